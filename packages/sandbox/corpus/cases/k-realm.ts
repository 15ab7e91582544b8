import { attacksOf } from '../model/case.ts'

/** If these fail they change nothing, so they share a compartment. */
const attack = attacksOf('K')

/** Assigns each member to itself, which must throw. Otherwise any other value could be assigned. */
const assigned = (...places: readonly string[]): string => changed(...places.map((place) => `${place} = ${place}`))
const changed = (...acts: readonly string[]): string => `
  const outcomes = []
  for (const act of [${acts.map((act) => `() => { ${act} }`).join(', ')}]) {
    outcomes.push(await attempt(() => { act(); return 'changed' }))
  }
  return { changes: outcomes }
`
const held = (count: number): { changes: string[] } => ({ changes: Array.from({ length: count }, () => 'TypeError') })

export const realm = [
  attack(133, 'changes Object.prototype', changed(
    'Object.prototype.polluted = 1; delete Object.prototype.polluted',
    'Object.defineProperty(Object.prototype, "polluted", { value: 1, configurable: true })',
    'Object.prototype.toString = Object.prototype.toString', 'Object.setPrototypeOf(Object.prototype, {})',
    'Reflect.set = Reflect.set',
    'Object.getOwnPropertyDescriptor(Object.prototype, "toString").set.call(Object.prototype, null)',
    'Object.freeze = Object.freeze',
    '({}).constructor.prototype.valueOf = Object.prototype.valueOf', '[].__proto__.__proto__.polluted = 1',
  ), held(9)),
  attack(134, 'changes the iteration of arrays', assigned(
    'Object.getPrototypeOf([][Symbol.iterator]()).next', 'Array.prototype[Symbol.iterator]', 'Array.prototype.map',
    'Array.prototype.push',
    'Object.getPrototypeOf(new Map().entries()).next', 'Map.prototype.get', 'Set.prototype.delete',
    'String.prototype.split',
    'RegExp.prototype.exec',
  ), held(9)),
  attack(135, 'changes the methods of promises', assigned(
    'Promise.prototype.then', 'Promise.resolve', 'Promise.prototype.constructor', 'Promise.prototype.finally',
    'Promise.withResolvers',
    'JSON.parse', 'JSON.stringify', 'Function.prototype.call', 'Function.prototype.bind', 'Buffer.prototype.write',
    'Buffer.from',
  ), held(11)),
  attack(136, 'changes how events are emitted, to capture the real process', `
    const { default: EventEmitter } = await import('node:events')
    const caught = []
    const poison = await attempt(() => {
      const emit = EventEmitter.prototype.emit
      EventEmitter.prototype.emit = function (...args) {
        if (this.nextTick) caught.push(this)
        return emit.apply(this, args)
      }
      return 'poisoned'
    })
    // A rejection that is handled too late makes Node emit an event on the real process.
    const late = Promise.resolve().then(() => { throw new Error('x') })
    late.catch(() => undefined)
    await new Promise((later) => setTimeout(later, 20))
    const settable = Object.getOwnPropertySymbols(EventEmitter.prototype).filter((symbol) => {
      try { EventEmitter.prototype[symbol] = function () { caught.push(this) } } catch { return false }
      return true
    })
    new EventEmitter().emit('x')
    return {
      poison, add: await attempt(() => { EventEmitter.prototype.trap = 1; return 'added' }),
      statics: await attempt(() => { EventEmitter.init = EventEmitter.init; return 'set' }),
      settable: settable.map(String),
      caught: caught.length,
    }
  `, {
    // Every emitter copies this method but does not call it.
    poison: 'TypeError', add: 'TypeError', statics: 'TypeError', settable: ['Symbol(kCapture)'], caught: 0,
  }),
  attack(137, 'changes how event targets dispatch, to capture the channel', `
    const caught = []
    const tries = []
    for (let at = EventTarget.prototype; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      for (const symbol of Object.getOwnPropertySymbols(at)) {
        tries.push(await attempt(() => {
          const old = at[symbol]
          at[symbol] = function (...args) { caught.push(this); return old.apply(this, args) }
          return String(symbol)
        }))
      }
    }
    runtime.progress('something to send')
    await new Promise((later) => setTimeout(later, 20))
    return { tries: [...new Set(tries)], caught: caught.length }
  `, { tries: ['TypeError'], caught: 0 }),
  attack(138, 'changes events and abort signals', assigned(
    'Event.prototype.preventDefault', 'EventTarget.prototype.dispatchEvent', 'EventTarget.prototype.addEventListener',
    'AbortSignal.prototype.throwIfAborted', 'AbortSignal.any', 'AbortController.prototype.abort',
    'ReadableStream.prototype.getReader',
    'runtime.progress', 'runtime.fs.readText', 'runtime.log.info', 'console.log', 'process.exit',
  ), held(12)),
  attack(139, 'sets Error.prepareStackTrace, to read the frames of the host', `
    const seen = []
    const look = (error, frames) => {
      for (const frame of frames) seen.push(...[frame.getThis?.(), frame.getFunction?.()].filter((value) =>
        value !== undefined
        && value !== null && value !== globalThis))
      return ''
    }
    const direct = await attempt(() => { Error.prepareStackTrace = look; return 'set' })
    globalThis.Error = { prepareStackTrace: look, stackTraceLimit: 100 }
    void new TypeError('x').stack
    await runtime.fs.readText('/nowhere').catch((error) => error.stack)
    const theirs = seen.filter((value) => typeof value === 'object' ? 'postMessage' in value
      || '_fatalException' in value : false)
    return { direct, theirs: theirs.length }
  `, { direct: 'TypeError', theirs: 0 }, { alone: true }),
  attack(140, 'reads function.caller', `
    const sloppy = Function(
      'seen', 'return function f() { seen.push(f.caller, f.arguments && [...f.arguments].length) }')
    const seen = []
    const spy = sloppy(seen)
    spy()
    setTimeout(spy)
    queueMicrotask(spy)
    await { then(resolve) { spy(); resolve() } }
    await new Promise((later) => setTimeout(later, 20))
    return { callers: seen.filter((value) => typeof value === 'function').length, times: seen.length > 4 }
  `, { callers: 0, times: true }, { control: 'inert' }),
  attack(141, 'reads the list of timers, to capture those of other code', `
    const timer = setTimeout(() => {}, 50)
    const met = new Set()
    const walk = (value, depth) => {
      if (depth > 12 || typeof value !== 'object' || value === null || met.has(value)) return
      met.add(value)
      for (const key of Reflect.ownKeys(value)) {
        const { value: member } = Object.getOwnPropertyDescriptor(value, key)
        walk(member, depth + 1)
      }
    }
    walk(timer, 0)
    const theirs = [...met].filter((value) => 'postMessage' in value || '_fatalException' in value || 'binding' in value
      || (value !== timer && typeof value._onTimeout === 'function'))
    clearTimeout(timer)
    return { met: met.size > 1 ? { got: met.size } : 'itself', theirs: theirs.length }
  `, { met: 'itself', theirs: 0 }),
  attack(142, 'returns its own constructor from Symbol.species', `
    const caught = []
    class Trap extends Promise {
      static get [Symbol.species]() {
        return function (executor) { executor((value) => caught.push(value), () => {}); return Promise.resolve() }
      }
      then(resolve, reject) { caught.push(resolve.constructor === Function); return super.then(resolve, reject) }
    }
    const replace = (owner) => { Object.defineProperty(owner, Symbol.species, { get() { return this } }); return 'set' }
    const species = await attempt(() => replace(Promise))
    const array = await attempt(() => replace(Array))
    await Trap.resolve(1)
    return { species, array, theirs: caught.filter((value) => typeof value === 'object' && value !== null).length }
  `, { species: 'TypeError', array: 'TypeError', theirs: 0 }),
  attack(143, 'defines a custom inspect function', `
    const { inspect } = await import('node:util')
    const caught = []
    const shown = {
      [Symbol.for('nodejs.util.inspect.custom')](depth, options, own) {
        caught.push(this, options, own)
        return 'shown'
      },
    }
    console.log(shown)
    runtime.log.info(inspect(shown))
    const theirs = caught.filter((value) => value !== shown && value !== inspect
      && ('postMessage' in value || '_fatalException' in value || 'write' in value))
    return { theirs: theirs.length, options: Object.isFrozen(inspect.defaultOptions) || typeof inspect.defaultOptions }
  `, { theirs: 0, options: 'object' }, { control: 'inert' }),
  attack(144, 'handles uncaught errors in place of Node', `
    return {
      capture: await attempt(() => use(process, 'setUncaughtExceptionCaptureCallback')(() => {})),
      on: await attempt(() => {
        use(process, 'on')('uncaughtException', () => {})
        return other(process.listenerCount('uncaughtException'), 0)
      }),
      add: await attempt(() => {
        use(process, 'addListener')('exit', () => {})
        return other(process.listenerCount('exit'), 0)
      }),
      emit: await attempt(() => other(use(process, 'emit')('uncaughtException', new Error('x')), false)),
      fatal: await attempt(() => use(process, '_fatalException') && 'there'),
      hook: await attempt(() => { process.exit = () => {}; return 'replaced' }),
    }
  `, {
    capture: 'absent', on: 'constant', add: 'constant', emit: 'constant', fatal: 'absent', hook: 'TypeError',
  }),
]
