import { fstatSync } from 'node:fs'
import { url as inspectorUrl } from 'node:inspector'

const WATCHED: ReadonlyMap<string, object> = new Map<string, object>([
  ['Object.prototype', Object.prototype], ['Function.prototype', Function.prototype],
  ['Array.prototype', Array.prototype],
  ['Promise.prototype', Promise.prototype], ['Error.prototype', Error.prototype], ['globalThis', globalThis],
  ['JSON', JSON],
  ['process.env', process.env],
])

/** Records the host's own realm and process. Returns a function that lists the changes. */
export function rememberRealm(fds: readonly number[]): () => readonly string[] {
  const picture = (): ReadonlyMap<string, string> => new Map([
    ...[...WATCHED].map(([name, object]) => [name, shapeOf(object)] as const),
    ['the working folder', process.cwd()],
    ['the umask', process.umask().toString(8)],
    ['the title', process.title],
    ['the descriptors', fds.map(kindOf).join(' ')],
    ['the inspector', inspectorUrl() ?? 'closed'],
  ])
  const before = picture()
  return () => [...picture()].filter(([name, now]) => now !== before.get(name)).map(([name]) => `${name} changed`)
}

const shapeOf = (object: object): string => Object.entries(Object.getOwnPropertyDescriptors(object))
  .map(
    ([key, { value }]: [string, PropertyDescriptor]) => `${key}:${typeof value}`,
  ).concat(symbolsOf(object)).toSorted().join()

const symbolsOf = (object: object): string[] => Object.getOwnPropertySymbols(object).map(String)

function kindOf(fd: number): string {
  try {
    const { dev, ino } = fstatSync(fd)
    return `${dev}:${ino}`
  } catch {
    return 'closed'
  }
}
