import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { RequestFault } from './fault.ts'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml', json: 'application/json', webmanifest: 'application/manifest+json',
}
const brotli = promisify(brotliCompress)
/** The default quality of 11 takes thirty times as long for a twentieth less: a page that opens would wait for it. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }
/** The better one first. */
const ENCODERS = { br: (text: string) => brotli(text, BROTLI), gzip: promisify(gzip) } as const
type Encoding = keyof typeof ENCODERS
/** A name with a digest has one content for ever. */
const HAS_DIGEST = /-[\w-]{8}\.\w+$/
const FOREVER = 'max-age=31536000, immutable'

/** The files of the page, compressed once each as browsers accept them. */
export class PageFiles {
  readonly #page: () => Promise<Readonly<Record<string, string>>>
  readonly #compressed = new Map<string, Promise<Buffer>>()

  constructor(page: () => Promise<Readonly<Record<string, string>>>) {
    this.#page = page
  }

  /** Throws NotFound. */
  async answer(path: string, request: Request): Promise<Response> {
    const files = await this.#page()
    const name = path === '' ? 'index.html' : path
    if (!Object.hasOwn(files, name)) throw new RequestFault('NotFound', `There is no file "${path}".`)
    const encoding = encodingFor(request.headers.get('accept-encoding') ?? '')
    const body = encoding === undefined ? Buffer.from(files[name]!) : await this.#compress(name, files[name]!, encoding)
    return new Response(request.method === 'HEAD' ? null : new Uint8Array(body), {
      headers: {
        'content-type': TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
        'content-length': String(body.length), vary: 'accept-encoding',
        ...(encoding && { 'content-encoding': encoding }), ...(HAS_DIGEST.test(name) && { 'cache-control': FOREVER }),
      },
    })
  }

  #compress(name: string, text: string, encoding: Encoding): Promise<Buffer> {
    return this.#compressed.getOrInsertComputed(`${encoding} ${name}`, () => ENCODERS[encoding](text))
  }
}

/** undefined: as it is. */
function encodingFor(accepted: string): Encoding | undefined {
  const offers = new Map(accepted.toLowerCase().split(',').map((one) => {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return [name, weight === undefined ? 1 : Number(weight.slice(2))]
  }))
  const weightOf = (encoding: string): number => offers.get(encoding) ?? offers.get('*') ?? 0
  const [best] = (Object.keys(ENCODERS) as Encoding[]).filter((one) => weightOf(one) > 0)
    .toSorted((a, b) => weightOf(b) - weightOf(a))
  return best
}
