const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const FORBIDDEN_IN_VALUE = /[\0\r\n]|[^\0-\xff]/

type Pairs = Iterable<readonly [name: string, value: string]>
export type HeadersInit = Headers | Pairs | Readonly<Record<string, string>> | undefined

/** The standard `Headers`, without guards: the host checks every request. */
export class Headers {
  readonly #values = new Map<string, string[]>()

  constructor(init?: HeadersInit) {
    if (init === undefined || init === null) return
    if (typeof init !== 'object') throw new TypeError('Headers are made of pairs, a record or other Headers.')
    for (const [name, value] of Symbol.iterator in init ? init : Object.entries(init)) this.append(name, value)
  }

  append(name: string, value: string): void {
    const key = nameOf(name)
    const values = this.#values.get(key)
    if (values === undefined) this.#values.set(key, [valueOf(value)])
    else values.push(valueOf(value))
  }

  set(name: string, value: string): void {
    this.#values.set(nameOf(name), [valueOf(value)])
  }

  delete(name: string): void {
    this.#values.delete(nameOf(name))
  }

  get(name: string): string | null {
    return this.#values.get(nameOf(name))?.join(', ') ?? null
  }

  has(name: string): boolean {
    return this.#values.has(nameOf(name))
  }

  getSetCookie(): string[] {
    return [...this.#values.get('set-cookie') ?? []]
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void, self?: unknown): void {
    for (const [name, value] of this) callback.call(self, value, name, this)
  }

  *entries(): Generator<[name: string, value: string], undefined, undefined> {
    for (const name of [...this.#values.keys()].toSorted()) {
      const values = this.#values.get(name) ?? []
      // Each cookie on its own: a cookie can contain a comma.
      if (name === 'set-cookie') for (const value of values) yield [name, value]
      else yield [name, values.join(', ')]
    }
    return undefined
  }

  *keys(): Generator<string, undefined, undefined> {
    for (const [name] of this) yield name
    return undefined
  }

  *values(): Generator<string, undefined, undefined> {
    for (const [, value] of this) yield value
    return undefined
  }

  [Symbol.iterator](): Generator<[name: string, value: string], undefined, undefined> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'Headers'
  }
}

function nameOf(name: unknown): string {
  const text = String(name)
  if (!NAME.test(text)) throw new TypeError(`"${text}" is not a valid name of a header.`)
  return text.toLowerCase()
}

function valueOf(value: unknown): string {
  const text = String(value).replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')
  if (FORBIDDEN_IN_VALUE.test(text)) throw new TypeError('A value of a header has characters that are not allowed.')
  return text
}
