import timers from 'node:timers'

/** Captured before extension code runs, which could replace them. */
const { clearImmediate, clearTimeout, setImmediate, setInterval, setTimeout } = timers
const { apply } = Reflect
const { defineProperty } = Object
const PROMISIFIED = Symbol.for('nodejs.util.promisify.custom')

type Callback = (...args: unknown[]) => unknown

/**
 * Hides Node's timer object. Its properties lead to the lists of all timers, and a value there that is not a number
 * aborts the process: the host's, for a thread.
 */
class Timeout {
  readonly #timer: NodeJS.Timeout

  constructor(callback: Callback, ms: number | undefined, args: readonly unknown[], again: boolean) {
    const start = again ? setInterval : setTimeout
    // Node throws the right error for a callback that is not a function.
    this.#timer = start(typeof callback === 'function' ? () => void apply(callback, this, args) : callback, ms)
  }

  ref(): this {
    this.#timer.ref()
    return this
  }

  unref(): this {
    this.#timer.unref()
    return this
  }

  hasRef(): boolean {
    return this.#timer.hasRef()
  }

  refresh(): this {
    this.#timer.refresh()
    return this
  }

  close(): this {
    clearTimeout(this.#timer)
    return this
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }

  [Symbol.toPrimitive](): number {
    return this.#timer[Symbol.toPrimitive]()
  }

  /** Passes on only a timer or its number: Node accepts anything that looks like one. */
  static clear(given: unknown): void {
    if (typeof given === 'number' || typeof given === 'string') clearTimeout(given)
    else if (typeof given === 'object' && given !== null && #timer in given) clearTimeout(given.#timer)
  }
}

/** The same for immediates. */
class Immediate {
  readonly #immediate: NodeJS.Immediate

  constructor(callback: Callback, args: readonly unknown[]) {
    this.#immediate = setImmediate(typeof callback === 'function' ? () => void apply(callback, this, args) : callback)
  }

  ref(): this {
    this.#immediate.ref()
    return this
  }

  unref(): this {
    this.#immediate.unref()
    return this
  }

  hasRef(): boolean {
    return this.#immediate.hasRef()
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#immediate)
  }

  static clear(given: unknown): void {
    if (typeof given === 'object' && given !== null && #immediate in given) clearImmediate(given.#immediate)
  }
}

const clearTimer = Timeout.clear
const clearImmediateTimer = Immediate.clear

/** Replacements for the globals and for the members of `node:timers`. */
export const TIMERS: Readonly<Record<string, object>> = {
  setTimeout: promisified('setTimeout', (callback: Callback, ms?: number, ...args: readonly unknown[]) =>
    new Timeout(callback, ms, args, false)),
  setInterval: (callback: Callback, ms?: number, ...args: readonly unknown[]) => new Timeout(callback, ms, args, true),
  setImmediate: promisified('setImmediate', (callback: Callback, ...args: readonly unknown[]) =>
    new Immediate(callback, args)),
  clearTimeout: (timer: unknown): void => clearTimer(timer),
  clearInterval: (timer: unknown): void => clearTimer(timer),
  clearImmediate: (immediate: unknown): void => clearImmediateTimer(immediate),
}

/** Frozen with the rest. */
export const TIMER_CLASSES: readonly object[] = [Timeout, Immediate]

function promisified<Start extends object>(name: 'setTimeout' | 'setImmediate', start: Start): Start {
  return defineProperty(start, PROMISIFIED, { enumerable: true, get: () => timers.promises[name] })
}
