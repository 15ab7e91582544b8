/** Sets the clock of this process, as that of a machine which is wrong by so much. */
export function shiftClock(ms: number): void {
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor(...args: readonly [] | readonly [number]) {
      super(args.length === 0 ? RealDate.now() + ms : args[0])
    }

    static override now(): number {
      return RealDate.now() + ms
    }
  } as typeof Date
}
