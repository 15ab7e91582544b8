import type { Json } from '@bulkhead/kit/json'
import { BROKER_METHODS } from '@bulkhead/contract'
import type { Random } from '../../soak/random.ts'

/** What a generator can use: open ids, and an unused one. */
export interface OpenIds {
  readonly questions: readonly number[]
  readonly requests: readonly number[]
  freshId(): number
  readonly callIds: readonly string[]
}

type Generator = (random: Random, ids: OpenIds) => unknown

const METHODS = Object.keys(BROKER_METHODS)
const NAMES = [
  'constructor', '__proto__', 'prototype', 'toString', 'valueOf', 'then', 'toJSON', '__defineGetter__',
  'hasOwnProperty', 'length',
  'id', 'type', 'path', 'value', 'name', 'message', 'cause', 'execute', 'load', 'APPLY', 'CONSTRUCT', 'RAW', '', '0',
  '\u2028', 'ü',
]
const LONG = 'y'.repeat(5_000)

function plain(random: Random, depth = 0): Json {
  switch (random.below(depth > 4 ? 6 : 8)) {
    case 0: return null
    case 1: return random.chance(0.5)
    case 2: return random.pick([0, -1, 1.5, 1e21, 2 ** 53, -0, random.below(1_000)])
    case 3: return random.pick(NAMES.filter((name) => name !== '__proto__'))
    case 4: return random.pick(['', 'text', '"\\\n', '\u{1f600}', '[[[{{{', 'a,b:c'])
    case 5: return random.chance(0.1) ? LONG : `${random.below(1e6)}`
    case 6: return Array.from({ length: random.below(4) }, () => plain(random, depth + 1))
    default: return Object.fromEntries(Array.from({ length: random.below(4) }, () =>
      [random.pick(['a', 'b', 'text', 'constructor', 'toString', 'id']), plain(random, depth + 1)]))
  }
}

const wireError = (random: Random, depth = 0): Json => ({
  name: random.pick(['Error', 'TypeError', '']),
  message: random.pick(['no', '', 'x'.repeat(10_000)]),
  ...(random.chance(0.4) && { code: random.pick(['NotFound', 'HostClosed', 'toString', 'X']) }),
  ...(random.chance(0.3) && { data: plain(random) }),
  ...(random.chance(0.3) && { stack: 'at nowhere' }),
  ...(depth < 3 && random.chance(0.3) && { cause: wireError(random, depth + 1) }),
})

function properMessage(random: Random, ids: OpenIds, answered: Set<number>): Json {
  const open = ids.questions.filter((id) => !answered.has(id))
  if (open.length === 0 || random.chance(0.6)) {
    const args = [
      random.pick([...ids.callIds, 'unknown', null]), ...Array.from({ length: random.below(4) }, () => plain(random)),
    ]
    return [3, ids.freshId(), random.chance(0.3) ? 'state.read' : random.pick(METHODS), args as Json]
  }
  const id = random.pick(open)
  answered.add(id)
  return random.chance(0.7) ? [1, id, plain(random)] : [2, id, wireError(random)]
}

function properMessages(random: Random, ids: OpenIds): Json[] {
  const answered = new Set<number>()
  return Array.from({ length: random.pick([1, 1, 1, 2, 5]) }, () => properMessage(random, ids, answered))
}

/** A valid packet, in each form that a link may send. */
const proper: Generator = (random, ids) => {
  const messages = properMessages(random, ids)
  if (messages.length === 1 && random.chance(0.5)) return JSON.stringify(messages[0])
  return random.chance(0.1) ? JSON.stringify(messages, null, 1) : JSON.stringify(messages)
}

/** A message with its long strings beside it. */
const withTexts: Generator = (random, ids) => {
  const texts = Array.from({ length: 1 + random.below(3) }, () => random.pick([LONG, 'short', '', '\u{1f600}']))
  const holes = texts.map((_, index) => [1, 'list', index])
  return [JSON.stringify([3, ids.freshId(), 'update', ['unknown', { list: texts.map(() => null) }], holes]), ...texts]
}

const WEIRD: readonly ((random: Random) => unknown)[] = [
  () => null, () => true, () => '', () => 'text', () => [], () => ({}), (random) => random.below(8),
  (random) => -random.below(8),
  () => 1.5, () => 2 ** 53, (random) => random.pick(NAMES), (random) => ({ [random.pick(NAMES)]: random.pick(NAMES) }),
  (random) => [random.pick(NAMES)], (random) => plain(random),
  () => ({ id: '1', type: 'CONSTRUCT', path: ['constructor', 'constructor'] }),
  () => ({ type: 'HANDLER', name: 'proxy', value: {} }), () => LONG,
]

/** A valid packet in which one value is replaced. */
const changed: Generator = (random, ids) => {
  const messages: unknown = properMessages(random, ids)
  let at = messages as Record<string, unknown>
  for (;;) {
    const keys = Object.keys(at)
    const key = keys.length === 0 || random.chance(0.05) ? random.pick(NAMES) : random.pick(keys)
    const below = Object.hasOwn(at, key) ? at[key] : undefined
    if (typeof below === 'object' && below !== null && random.chance(0.7)) {
      at = below as Record<string, unknown>
      continue
    }
    if (Array.isArray(at)) at.splice(random.below(at.length + 1), random.below(2), random.pick(WEIRD)(random))
    else Object.defineProperty(
      at, key, { value: random.pick(WEIRD)(random), enumerable: true, configurable: true, writable: true },
    )
    return JSON.stringify(messages)
  }
}

const MARKS = [
  '[', ']', '{', '}', '"', ',', ':', '\\', '\\u005f', '\\ud800', '\ud800', '\0', '1', 'null', '"__proto__":1,', 'e999',
  ' ',
]

/** A valid packet as a string, truncated, duplicated or broken. */
const torn: Generator = (random, ids) => {
  const text = proper(random, ids) as string
  const from = random.below(text.length)
  const to = from + random.below(text.length - from)
  switch (random.below(4)) {
    case 0: return text.slice(0, from)
    case 1: return text.slice(0, from) + text.slice(to)
    case 2: return text.slice(0, to) + text.slice(from)
    default: return text.slice(0, from) + random.pick(MARKS) + text.slice(random.chance(0.5) ? from : from + 1)
  }
}

/** Replies without a request, second replies, duplicate ids, and ids of the wrong type. */
const forged: Generator = (random, ids) => {
  const known = random.pick([...ids.questions, ...ids.requests, 0])
  const id = random.pick<unknown>(
    [known, known + 1, -1, String(known), [known], null, 2 ** 53, 1e308, 0.1, ids.freshId()],
  )
  const message = random.pick<unknown>([
    [1, id, 'forged'], [2, id, { name: 'E', message: 'm' }], [3, id, 'progress', ['unknown', 'x']],
    [4, id, 1], [5, id, {}],
    [0, id, 'execute', []], [3, id, 'state.read', []], [id, id, id], [1, id], [3, id, 'progress'],
  ])
  return JSON.stringify(random.chance(0.3) ? [message, message] : [message])
}

const DEEP = 80
const nest = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth)
const HUGE = [
  nest('[', ']', DEEP), nest('{"a":', '', DEEP) + 'null' + '}'.repeat(DEEP), nest('[', ']', 60), '['.repeat(5_000),
  `[${'0,'.repeat(20_000)}0]`, `"${'z'.repeat(300_000)}"`,
  `{${Array.from({ length: 500 }, (_, n) => `"k${n}":${n}`).join(',')}}`,
  '9'.repeat(400),
]
const huge: Generator = (random, ids) => `[3,${ids.freshId()},"update",["unknown",${random.pick(HUGE)}]]`

/** Values that only a port can deliver, made of a packet of one string or of several. */
const POSTED: readonly ((text: string, texts: readonly unknown[]) => unknown)[] = [
  () => undefined, () => null, () => 5, () => 5n, () => true, () => ({}), (text) => new Map([[0, text]]),
  () => new Date(0),
  () => new Error('e'), (text) => Buffer.from(text), () => new SharedArrayBuffer(8), () => [], (text) => [text, 5],
  (text) => [5, text], (text) => [[text]], (text) => [text, ''], (text) => [text, LONG], (text) => [text, '\ud800'],
  () => ['\ud800'], (text) => Object.assign([text], { length: 3 }), () => Object.assign([], { length: 2 ** 32 - 1 }),
  (text) => Object.assign([text], { toString: text }), (text) => ({ 0: text, length: 1 }), (text) => [text],
  (text) => Array.from({ length: 1_100 }, () => text), (_text, texts) => texts.slice(0, -1),
  (_text, texts) => [...texts, 'one more'], (_text, texts) => texts.toReversed(),
]
const posted: Generator = (random, ids) =>
  random.pick(POSTED)(proper(random, ids) as string, withTexts(random, ids) as readonly unknown[])

const misplaced: Generator = (random, ids) => {
  const steps = (): unknown[] => Array.from(
    { length: random.below(4) }, () => random.pick<unknown>([0, 1, 'a', ...NAMES, -1, 0.5, null, {}]),
  )
  const holes = random.chance(0.2) ? random.pick(WEIRD)(random) : Array.from({ length: random.below(3) }, steps)
  return [
    JSON.stringify([3, ids.freshId(), 'update', [null, { a: null, constructor: null }, [null]], holes]), LONG, 'short',
  ]
    .slice(0, 1 + random.below(3))
}

const noise: Generator = (random) =>
  Array.from(
    { length: random.below(40) },
    () => random.chance(0.5) ? random.pick(MARKS) : String.fromCharCode(random.below(0x300)),
  ).join('')

const GENERATORS: readonly (readonly [weight: number, generator: Generator])[] = [
  [45, proper], [8, withTexts], [12, changed], [10, torn], [8, forged], [2, huge], [5, posted], [6, misplaced],
  [4, noise],
]

export function somePacket(random: Random, ids: OpenIds): unknown {
  let left = random.next() * GENERATORS.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, generator] of GENERATORS) {
    left -= weight
    if (left < 0) return generator(random, ids)
  }
  return noise(random, ids)
}
