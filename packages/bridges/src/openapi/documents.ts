import { constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { isAbsolute, relative, sep } from 'node:path'
import type { LoadReport, ResolvedConfig } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { z } from 'zod'
import { diagnosticOf, type Offered, sha512 } from '../connected/entries.ts'
import { FileCache } from '../connected/file-cache.ts'
import {
  baseUrlOf, documentEntries, placeOf, documentExtension, type DocumentEntry, type DocumentPlace,
  type DocumentExtension,
} from './document-extension.ts'
import type { DescribedApi, Wanted } from './reading/api-description.ts'
import { type DocumentAnswer, readDocument } from './reading/document-thread.ts'

export interface OpenapiDocumentsOptions {
  /** The canonical path of the project. */
  readonly workspace: string
  /** Relative paths in the global configuration are resolved here. */
  readonly home: string
  /** The cache folder for parsed documents. Default: no cache. */
  readonly cache?: string
}

type Readable = Extract<DocumentFile, { readonly ok: true }>

/** The OpenAPI documents of one workspace. A document is parsed again only if it has changed. */
export class OpenapiDocuments {
  readonly #options: OpenapiDocumentsOptions
  readonly #files: ApiFiles

  constructor(options: OpenapiDocumentsOptions) {
    this.#options = options
    this.#files = new ApiFiles(options.cache)
  }

  /**
   * Reads the documents of this configuration, without network access. `trusted` has the digests of project documents
   * by name; a document with another digest is not used. Never rejects.
   */
  async offer(config: ResolvedConfig, trusted: LoadReport['projectDocuments'] = new Map()): Promise<Offered> {
    const { entries, diagnostics } = documentEntries(config)
    const wanted = entries.filter((entry) => entry.config.enabled !== false)
    const offered = await Promise.all(wanted.map((entry) => this.#offerOf(entry, trusted)))
    return {
      extensions: offered.flatMap(({ extension }) => extension ?? []),
      diagnostics: [...diagnostics, ...offered.flatMap((one) => one.diagnostics)],
    }
  }

  async #offerOf(
    entry: DocumentEntry, trusted: NonNullable<LoadReport['projectDocuments']>,
  ): Promise<DocumentExtension> {
    const { name, config: { operations = null, tags = null, paths = null, baseUrl } } = entry
    const place = placeOf(entry, this.#options.workspace, this.#options.home)
    const refuse = (what: string): DocumentExtension => {
      const [path, reason] = [visibleText(place.path), visibleText(what)]
      const message = `The OpenAPI document "${name}", ${path}, ${reason}. It offers no tools.`
      return { extension: undefined, diagnostics: [diagnosticOf(entry, 'ConfigInvalid', message)] }
    }
    const file = await readDocumentFile(place)
    if (!file.ok) return refuse(file.message)
    const isAsTrusted = entry.layer !== 'project' || trusted.get(name) === file.digest
    if (!isAsTrusted) return refuse('has changed since the project was trusted; reload')
    const answer = await this.#read(place.path, file, { operations, tags, paths, hasBaseUrl: baseUrl !== undefined })
    if (!answer.ok) return refuse(answer.message)
    const verdict = baseUrlOf(baseUrl, answer.api.server)
    return verdict.ok ? documentExtension(entry, place.path, answer.api, verdict.base) : refuse(verdict.message)
  }

  async #read(path: string, { text, digest }: Readable, wanted: Wanted): Promise<DocumentAnswer> {
    const identity = sha512(canonicalJson({ path, wanted: wanted as unknown as Json }))
    const known = this.#files.read(identity, digest)
    if (known !== undefined) return { ok: true, api: known }
    const answer = await readDocument({ text, wanted })
    if (answer.ok) this.#files.write(identity, digest, answer.api)
    return answer
  }
}

const MOST_BYTES = 16 * 1024 * 1024

type DocumentFile =
  | { readonly ok: true; readonly text: string; readonly digest: string }
  /** The message is the end of a sentence. */
  | { readonly ok: false; readonly message: string }

/** Never rejects, never blocks, and reads at most the size limit. */
async function readDocumentFile({ path, within }: DocumentPlace): Promise<DocumentFile> {
  try {
    // Trust in a project covers the content of the file itself, not of a link target.
    if (within !== undefined && (await lstat(path)).isSymbolicLink()) {
      return refused('is a link; use the path of its target')
    }
    const real = await realpath(path)
    if (within !== undefined && !isInside(real, within)) return refused('is outside the project')
    // Do not follow a link created since the check, and do not block on a pipe without a writer.
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) return refused('is not a file')
      const bytes = stat.size > MOST_BYTES ? undefined : await readAtMost(file, MOST_BYTES)
      if (bytes === undefined) return refused(`has more than ${MOST_BYTES} bytes`)
      return { ok: true, text: bytes.toString('utf8').replace(/^\uFEFF/, ''), digest: sha512(bytes) }
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return refused(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown'})`)
  }
}

async function readAtMost(file: Awaited<ReturnType<typeof open>>, most: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of file.createReadStream({ end: most, autoClose: false }) as AsyncIterable<Buffer>) {
    pieces.push(piece)
    bytes += piece.length
  }
  return bytes > most ? undefined : Buffer.concat(pieces)
}

function isInside(path: string, folder: string): boolean {
  const rest = relative(folder, path)
  return rest !== '' && rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest)
}

const refused = (message: string): DocumentFile => ({ ok: false, message })

/** Version of the parser. Increment it when the result for a document changes. */
const READER = 6

const QUERY_STYLES = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const
const parameter = z.strictObject({
  argument: z.string(), name: z.string(), in: z.enum(['path', 'query', 'header', 'cookie']),
  style: z.enum(['simple', 'label', 'matrix', ...QUERY_STYLES]), explode: z.boolean(), json: z.boolean(), reserved: z.boolean(),
})
const field = z.union([
  z.strictObject({ style: z.enum(QUERY_STYLES), explode: z.boolean(), reserved: z.boolean() }),
  z.strictObject({ style: z.enum(['json', 'text', 'file']), mediaType: z.string().optional() }),
])
const operation = z.strictObject({
  operationId: z.string(), method: z.string(), path: z.string().startsWith('/'), label: z.string(),
  description: z.string(),
  inputSchema: z.custom<JsonObject>(isJsonObject), parameters: z.array(parameter),
  body: z.strictObject({
    argument: z.string(), form: z.enum(['json', 'urlencoded', 'multipart', 'text', 'binary']), mediaType: z.string(),
    fields: z.record(z.string(), field),
  }).nullable(),
  security: z.array(z.array(z.string())),
})
const scheme = z.discriminatedUnion('kind', [
  z.strictObject({ name: z.string(), kind: z.enum(['basic', 'bearer']) }),
  z.strictObject({
    name: z.string(), kind: z.literal('apiKey'), in: z.enum(['header', 'query', 'cookie']), parameter: z.string(),
  }),
  z.strictObject({ name: z.string(), kind: z.literal('oauth2'), tokenUrl: z.string().optional() }),
])
const api = z.strictObject({
  version: z.string(), server: z.string().nullable(), operations: z.array(operation), schemes: z.array(scheme),
  faults: z.array(z.string()), mended: z.array(z.string()), shortened: z.array(z.string()),
  unnamed: z.array(z.string()),
})
const cached = z.strictObject({ reader: z.literal(READER), of: z.string(), api })

/** Caches parsed documents. Never throws. */
class ApiFiles {
  readonly #files: FileCache

  constructor(folder: string | undefined) {
    this.#files = new FileCache(folder)
  }

  /** Returns the entry only if it was parsed from the text with this digest. */
  read(identity: string, digest: string): DescribedApi | undefined {
    const { data } = cached.safeParse(this.#files.read(identity))
    return data?.of === digest ? data.api : undefined
  }

  write(identity: string, digest: string, read: DescribedApi): void {
    this.#files.write(identity, { reader: READER, of: digest, api: read })
  }
}
