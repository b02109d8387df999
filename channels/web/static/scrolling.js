// Staying at the newest words, but only for who is already there.

const NEAR_PIXELS = 96;

export class Scrolling {
  constructor(scroller, jumpButton) {
    this.scroller = scroller;
    this.jump = jumpButton;
    this.isFollowing = true;
    scroller.addEventListener("scroll", () => this.noticed(), { passive: true });
    jumpButton.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.settle()).observe(scroller);
    for (const child of scroller.children) new ResizeObserver(() => this.settle()).observe(child);
  }

  toEnd() {
    this.isFollowing = true;
    this.settle();
  }

  settle() {
    if (this.isFollowing) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.noticed();
  }

  noticed() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    this.isFollowing = scrollHeight - scrollTop - clientHeight < NEAR_PIXELS;
    this.jump.hidden = this.isFollowing;
  }
}
