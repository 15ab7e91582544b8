import type { KeyGrant } from '@bulkhead/contract'
import { compileGlob, pathSegments } from '@bulkhead/kit/glob'

/** For which requests a key is sent. */
export class KeyScope {
  readonly #methods: ReadonlySet<string>
  readonly #paths: readonly ReturnType<typeof compileGlob>[]

  constructor({ methods, paths }: Pick<KeyGrant, 'methods' | 'paths'>) {
    this.#methods = new Set(methods)
    this.#paths = paths.map((pattern) => compileGlob(pattern, { below: false }))
  }

  /** Why a request does not get the key, as the end of a sentence; undefined if it does. */
  refuses(method: string, path: string): string | undefined {
    if (!this.#methods.has(method)) return `in a request with ${method}, which its methods do not include`
    const isCovered = readingsOf(path)?.every((segments) => this.#paths.some((covers) => covers(segments).covers))
    return isCovered === true ? undefined : 'at a path that its paths do not include'
  }
}

/** Servers decode a path at most this often. */
const DECODINGS = 3

/**
 * Every way in which a server may read a path: as it is written, and decoded. undefined if it leads somewhere else in
 * one of them, as `..`, `..;` and `%2e%2e` do.
 */
function readingsOf(path: string): readonly (readonly string[])[] | undefined {
  const readings = [path]
  for (let count = 0; count < DECODINGS; count++) {
    const decoded = decodeOnce(readings.at(-1)!)
    if (decoded === undefined) return undefined
    if (decoded === readings.at(-1)) break
    readings.push(decoded)
  }
  // Still encoded: no honest client does that.
  if (decodeOnce(readings.at(-1)!) !== readings.at(-1)) return undefined
  const all = readings.map((text) => pathSegments(text.replaceAll('\\', '/')))
  const isClear = all.flat().every((segment) => !/^\.{1,2}(?:;|$)/.test(segment) && !/\p{Cc}/u.test(segment))
  return isClear ? all : undefined
}

function decodeOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // A per cent sign in a name that was decoded before.
    return /%(?:2[ef]|5c|25)/i.test(text) ? undefined : text
  }
}
