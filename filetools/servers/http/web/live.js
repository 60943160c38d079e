/** The live protocol. */
export class Live {
  constructor() {
    this.state = "connected";
  }
  on() {
    return () => {};
  }
  login() {}
}
