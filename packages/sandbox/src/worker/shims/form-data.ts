import { Buffer } from 'node:buffer'

type Part = string | ArrayBuffer | ArrayBufferView | Blob

let bytesIn: (blob: Blob) => Uint8Array

/** The standard `Blob`, in memory. Node's own holds native objects. */
export class Blob {
  readonly #bytes: Uint8Array
  readonly #type: string

  constructor(parts: Iterable<Part> = [], { type = '' }: { readonly type?: string } = {}) {
    this.#bytes = new Uint8Array(Buffer.concat([...parts].map(bytesOf)))
    this.#type = /[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase()
  }

  get size(): number {
    return this.#bytes.length
  }

  get type(): string {
    return this.#type
  }

  slice(start?: number, end?: number, type = ''): Blob {
    return new Blob([this.#bytes.slice(start, end)], { type })
  }

  async bytes(): Promise<Uint8Array> {
    return this.#bytes.slice()
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes.slice().buffer as ArrayBuffer
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(this.#bytes)
  }

  stream(): ReadableStream<Uint8Array> {
    return ReadableStream.from([this.#bytes.slice()])
  }

  get [Symbol.toStringTag](): string {
    return 'Blob'
  }

  static {
    bytesIn = (blob) => blob.#bytes
  }
}

interface FileOptions {
  readonly type?: string
  readonly lastModified?: number
}

export class File extends Blob {
  readonly name: string
  readonly lastModified: number

  constructor(parts: Iterable<Part>, name: string, options: FileOptions = {}) {
    super(parts, options)
    this.name = String(name)
    this.lastModified = options.lastModified ?? Date.now()
  }

  override get [Symbol.toStringTag](): string {
    return 'File'
  }
}

/** The bytes of a part; other values as strings, as the standard has it. */
export function bytesOf(part: unknown): Uint8Array {
  if (part instanceof Blob) return bytesIn(part)
  if (part instanceof ArrayBuffer) return new Uint8Array(part)
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
  return Buffer.from(String(part).toWellFormed())
}

export type FormDataValue = string | File

/** The standard `FormData`. */
export class FormData {
  #entries: [name: string, value: FormDataValue][] = []

  append(name: string, value: unknown, fileName?: string): void {
    this.#entries.push([String(name), valueOf(value, fileName)])
  }

  set(name: string, value: unknown, fileName?: string): void {
    const entry: [string, FormDataValue] = [String(name), valueOf(value, fileName)]
    const first = this.#entries.findIndex(([other]) => other === entry[0])
    if (first < 0) return void this.#entries.push(entry)
    this.#entries = this.#entries.filter(([other], at) => at <= first || other !== entry[0])
    this.#entries[first] = entry
  }

  delete(name: string): void {
    this.#entries = this.#entries.filter(([other]) => other !== String(name))
  }

  get(name: string): FormDataValue | null {
    return this.getAll(name)[0] ?? null
  }

  getAll(name: string): FormDataValue[] {
    return this.#entries.filter(([other]) => other === String(name)).map(([, value]) => value)
  }

  has(name: string): boolean {
    return this.#entries.some(([other]) => other === String(name))
  }

  forEach(callback: (value: FormDataValue, name: string, form: FormData) => void, self?: unknown): void {
    for (const [name, value] of this) callback.call(self, value, name, this)
  }

  entries(): ArrayIterator<[name: string, value: FormDataValue]> {
    return this.#entries.map(([name, value]): [string, FormDataValue] => [name, value]).values()
  }

  keys(): ArrayIterator<string> {
    return this.#entries.map(([name]) => name).values()
  }

  values(): ArrayIterator<FormDataValue> {
    return this.#entries.map(([, value]) => value).values()
  }

  [Symbol.iterator](): ArrayIterator<[name: string, value: FormDataValue]> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'FormData'
  }
}

function valueOf(value: unknown, fileName: string | undefined): FormDataValue {
  if (!(value instanceof Blob)) return String(value)
  if (value instanceof File && fileName === undefined) return value
  return new File([value], fileName ?? 'blob', { type: value.type })
}

const LINE = '\r\n'
const escaped = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

/** A form as `multipart/form-data`. */
export function multipart(form: FormData): { readonly bytes: Uint8Array; readonly type: string } {
  const boundary = `----form-${crypto.randomUUID()}`
  const parts = [...form].flatMap(([name, value]) => {
    const isFile = typeof value !== 'string'
    const file = isFile ? `; filename="${escaped(value.name)}"` : ''
    const type = isFile ? `${LINE}Content-Type: ${value.type || 'application/octet-stream'}` : ''
    const disposition = `Content-Disposition: form-data; name="${escaped(name)}"${file}`
    const content = isFile ? value : value.replaceAll(/\r?\n|\r/g, LINE)
    return [`--${boundary}${LINE}${disposition}${type}${LINE}${LINE}`, content, LINE]
  })
  const bytes = Buffer.concat([...parts, `--${boundary}--${LINE}`].map(bytesOf))
  return { bytes, type: `multipart/form-data; boundary=${boundary}` }
}
