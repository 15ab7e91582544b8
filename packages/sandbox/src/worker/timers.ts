import timers from 'node:timers'

/** Taken now: what runs later in this thread may have put something else in its place. */
const { clearImmediate, clearTimeout, setImmediate, setInterval, setTimeout } = timers
const { apply } = Reflect
const { defineProperty } = Object
const PROMISIFIED = Symbol.for('nodejs.util.promisify.custom')

type Callback = (...args: unknown[]) => unknown

/**
 * What Node gives out for a timer is what it keeps itself: by its members anyone reaches the lists of all timers, and a number
 * among them that is none ends the process, that of the host in a thread. These only hold it.
 */
class Timeout {
  readonly #timer: NodeJS.Timeout

  constructor(callback: Callback, ms: number | undefined, args: readonly unknown[], again: boolean) {
    const start = again ? setInterval : setTimeout
    // Node says what is wrong with a callback that is none.
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

  /** Nothing but a timer or its number is handed on: Node takes whatever looks like one. */
  static clear(given: unknown): void {
    if (typeof given === 'number' || typeof given === 'string') clearTimeout(given)
    else if (typeof given === 'object' && given !== null && #timer in given) clearTimeout(given.#timer)
  }
}

/** The same for what happens at once. */
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
const clearAtOnce = Immediate.clear

/** What takes the place of Node's own, by name: of its module and among the globals. */
export const TIMERS: Readonly<Record<string, object>> = {
  setTimeout: promisified('setTimeout', (callback: Callback, ms?: number, ...args: readonly unknown[]) =>
    new Timeout(callback, ms, args, false)),
  setInterval: (callback: Callback, ms?: number, ...args: readonly unknown[]) => new Timeout(callback, ms, args, true),
  setImmediate: promisified('setImmediate', (callback: Callback, ...args: readonly unknown[]) => new Immediate(callback, args)),
  clearTimeout: (timer: unknown): void => clearTimer(timer),
  clearInterval: (timer: unknown): void => clearTimer(timer),
  clearImmediate: (immediate: unknown): void => clearAtOnce(immediate),
}

/** Frozen with the rest. */
export const TIMER_CLASSES: readonly object[] = [Timeout, Immediate]

function promisified<Start extends object>(name: 'setTimeout' | 'setImmediate', start: Start): Start {
  return defineProperty(start, PROMISIFIED, { enumerable: true, get: () => timers.promises[name] })
}
