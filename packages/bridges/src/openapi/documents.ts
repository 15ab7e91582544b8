import { isAbsolute, join, resolve } from 'node:path'
import type { LoadReport, ResolvedConfig } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { z } from 'zod'
import { diagnosticOf, type Offered, sha512 } from '../connected/entries.ts'
import { FileCache } from '../connected/file-cache.ts'
import {
  baseUrlOf, documentEntries, documentExtension, type DocumentEntry, type DocumentExtension,
} from './document-extension.ts'
import type { DescribedApi, Wanted } from './reading/api-description.ts'
import { type DocumentAnswer, readDocument } from './reading/document-pool.ts'
import { readFileSource } from './sources/file.ts'
import { inlineText, isPinnedUrl, type SourceRead } from './sources/source.ts'
import { readUrlSource } from './sources/url.ts'

export interface OpenapiDocumentsOptions {
  /** The canonical path of the project. */
  readonly workspace: string
  /** Relative paths in the global configuration are resolved here. */
  readonly home: string
  /** The cache folder for parsed documents. Default: no cache. */
  readonly cache?: string
}

type Readable = Extract<SourceRead, { readonly ok: true }>

/** Where a document is, and how to read it. */
interface Located {
  /** Part of its identity, and shown to people. */
  readonly path: string
  /** Whether trust in a project must cover its content. Otherwise the configuration does. */
  readonly isProjectFile: boolean
  read(): Promise<SourceRead>
}

/** The OpenAPI documents of one workspace. A document is parsed again only if it has changed. */
export class OpenapiDocuments {
  readonly #options: OpenapiDocumentsOptions
  readonly #files: ApiFiles

  constructor(options: OpenapiDocumentsOptions) {
    this.#options = options
    this.#files = new ApiFiles(options.cache)
  }

  /**
   * Reads the documents of this configuration. Fetches only pinned ones that are not in the cache. `trusted` has the
   * digests of project documents by name; a document with another digest is not used. Never rejects.
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
    const { name, config: { operations = null, tags = null, paths = null, methods = null, baseUrl } } = entry
    const { path, isProjectFile, read } = this.#locate(entry)
    const refuse = (what: string): DocumentExtension => {
      const message = `The OpenAPI document "${name}", ${visibleText(path)}, ${visibleText(what)}. It offers no tools.`
      return { extension: undefined, diagnostics: [diagnosticOf(entry, 'ConfigInvalid', message)] }
    }
    const source = await read()
    if (!source.ok) return refuse(source.message)
    const isAsTrusted = !isProjectFile || trusted.get(name) === source.digest
    if (!isAsTrusted) return refuse('has changed since the project was trusted; reload')
    const wanted = { operations, tags, paths, methods, hasBaseUrl: baseUrl !== undefined }
    const answer = await this.#read(path, source, wanted)
    if (!answer.ok) return refuse(answer.message)
    const verdict = baseUrlOf(baseUrl, answer.api.server)
    return verdict.ok ? documentExtension(entry, path, answer.api, verdict.base) : refuse(verdict.message)
  }

  /**
   * A project document lies in the project. A path of the user is relative to the home folder, never to the workspace,
   * which may be an untrusted project.
   */
  #locate({ layer, config: { document } }: DocumentEntry): Located {
    const { workspace, home, cache } = this.#options
    if (typeof document === 'string') {
      const isProjectFile = layer === 'project'
      const base = isProjectFile ? workspace : home
      const path = !isProjectFile && isAbsolute(document) ? document : resolve(base, document)
      const within = isProjectFile ? workspace : undefined
      return { path, isProjectFile, read: () => readFileSource({ path, within }) }
    }
    if (isPinnedUrl(document)) {
      const folder = cache === undefined ? undefined : join(cache, 'documents')
      return { path: document.url, isProjectFile: false, read: () => readUrlSource(document, folder) }
    }
    const text = inlineText(document)
    const read = async (): Promise<SourceRead> =>
      ({ ok: true, name: 'document', text, parts: [], digest: sha512(text) })
    return { path: 'in the configuration', isProjectFile: false, read }
  }

  async #read(path: string, { name, text, parts, digest }: Readable, wanted: Wanted): Promise<DocumentAnswer> {
    const identity = sha512(canonicalJson({ path, wanted: wanted as unknown as Json }))
    const known = this.#files.read(identity, digest)
    if (known !== undefined) return { ok: true, api: known }
    const answer = await readDocument({ name, text, parts, wanted })
    if (answer.ok) this.#files.write(identity, digest, answer.api)
    return answer
  }
}

/** Version of the parser. Increment it when the result for a document changes. */
const READER = 8

const QUERY_STYLES = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const
const parameter = z.strictObject({
  argument: z.string(), name: z.string(), in: z.enum(['path', 'query', 'header', 'cookie']),
  style: z.enum(['simple', 'label', 'matrix', ...QUERY_STYLES]), explode: z.boolean(), json: z.boolean(),
  reserved: z.boolean(),
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
