import { attacksOf, refused } from '../model/case.ts'

const attack = attacksOf('K', { alone: true })

/** Internal state of Node's objects that is reachable. Native code uses it unchecked. */
const INSIDE = `
  const inside = (object, description) => {
    for (let at = object; at; at = Object.getPrototypeOf(at)) {
      const key = Object.getOwnPropertySymbols(at).find((symbol) => description.test(symbol.description))
      if (key !== undefined) return key
    }
    throw { code: 'absent' }
  }
`

/** Most of these would abort the process, so they only check that the internal state is out of reach. */
export const realmInsides = [
  attack(340, 'reads memory next to a decoder, through the lengths it stores', `${INSIDE}
    const { StringDecoder } = await import('node:string_decoder')
    return { memory: await attempt(() => {
      const decoder = new StringDecoder('utf8')
      const state = decoder[inside(decoder, /kNativeDecoder/)]
      state.fill(255, 0, 6)
      return decoder.end().length > 100 && 'read'
    }) }
  `, { memory: 'absent' }),
  attack(341, 'calls decoders on another object', `${INSIDE}
    const { StringDecoder } = await import('node:string_decoder')
    const { TextDecoder: second } = await import('node:util')
    const handle = (Decoder) => attempt(() => inside(new Decoder('shift_jis'), /^handle$/) && 'there')
    return {
      text: await handle(TextDecoder),
      again: await handle(second),
      other: await attempt(() => StringDecoder.prototype.write.call({}, Buffer.from('x'))),
    }
  `, { text: 'absent', again: 'absent', other: 'TypeError' }),
  attack(342, 'reads the ids by which Node tracks asynchronous work', `${INSIDE}
    const timers = (await import('node:timers')).default
    const number = (make) => attempt(() => inside(make(), /async_id|asyncId/) && 'there')
    let self
    await new Promise((later) => setTimeout(function () { self = this; later() }))
    return {
      timeout: await number(() => setTimeout(() => {})), interval: await number(() => setInterval(() => {}).unref()),
      immediate: await number(() => setImmediate(() => {})), module: await number(() => timers.setTimeout(() => {})),
      self: await number(() => self),
    }
  `, { timeout: 'absent', interval: 'absent', immediate: 'absent', module: 'absent', self: 'absent' }),
  attack(343, 'reads the same ids through event emitters that have one', `
    const { default: events } = await import('node:events')
    return { emitter: await attempt(() => use(events, 'EventEmitterAsyncResource') && 'there') }
  `, { emitter: 'absent' }),
  attack(344, 'throws an error that the parent cannot deserialize, uncaught', `
    const error = Object.defineProperty(new Error('x'), 'constructor', { value: Error })
    Object.defineProperty(error, 'cause', { get: undefined, set: undefined, configurable: true })
    setTimeout(() => { throw error })
    await new Promise(() => {})
  `, [['call', refused('CompartmentCrashed')], ['ended', refused('CompartmentCrashed')]]),
  attack(345, 'opens byte streams, whose copy lengths can be changed', `
    const bytes = (make) => attempt(() => make() && 'there')
    const made = new TransformStream().readable
    const { inspect } = await import('node:util')
    const shown = []
    const stylize = function (text) { shown.push(...this?.seen ?? []); return text }
    await attempt(() => inspect(ReadableStream, { showHidden: true, stylize }))
    return {
      plain: await bytes(() => new ReadableStream({ type: 'bytes' })),
      later: await bytes(() => {
        let looks = 0
        return new ReadableStream({ get type() { return looks++ > 0 ? 'bytes' : undefined } })
          .getReader({ mode: 'byob' })
      }),
      behind: await bytes(() => new made.constructor({ type: 'bytes' })),
      above: await bytes(() => new (Object.getPrototypeOf(ReadableStream))({ type: 'bytes' }).getReader()),
      shown: await bytes(() => shown.map((Shown) => new Shown({ type: 'bytes' }))),
      reader: await bytes(() => made.getReader({ mode: 'byob' })),
      controller: await attempt(() => use(globalThis, 'ReadableByteStreamController') && 'there'),
    }
  `, { plain: 'TypeError', later: 'TypeError', behind: 'TypeError', above: 'TypeError', shown: 'TypeError',
    reader: 'TypeError', controller: 'absent' }),
  attack(346, 'searches in a buffer with an invalid end', `
    const bytes = () => Buffer.from('abc')
    return {
      given: bytes().indexOf(98, 0, {}),
      own: Object.defineProperty(bytes(), 'length', { value: {} }).indexOf(98),
      view: Buffer.prototype.includes.call(new DataView(new ArrayBuffer(1)), 98),
    }
  `, { given: -1, own: 1, view: false }),
  attack(347, 'requests random values for an array with a false length', `
    const array = Object.defineProperty(new Uint8Array(8), 'byteLength', { value: {} })
    return { same: crypto.getRandomValues(array) === array }
  `, { same: true }),
]
