import type { LoadReport, ResolvedConfig } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { sha512 } from '../connected/digest.ts'
import { diagnosticOf } from '../connected/entries.ts'
import type { Offered } from '../connected/offered.ts'
import { baseUrlOf } from './base-url.ts'
import { documentEntries, placeOf, type DocumentEntry } from './document-entry.ts'
import { documentExtension, type DocumentExtension } from './document-extension.ts'
import { readDocumentFile, type DocumentFile } from './document-file.ts'
import { ApiFiles } from './reading/api-files.ts'
import type { Wanted } from './reading/described.ts'
import { readDocument, type DocumentAnswer } from './reading/document-thread.ts'

export interface OpenapiDocumentsOptions {
  /** The canonical path of the project. */
  readonly workspace: string
  /** The folder that what the user names is looked for in. */
  readonly home: string
  /** The folder to remember in what was read of documents. Default: nothing is remembered. */
  readonly cache?: string
}

type Readable = Extract<DocumentFile, { readonly ok: true }>

/** The OpenAPI documents of one workspace. None is read before it is asked for, and none again that is remembered. */
export class OpenapiDocuments {
  readonly #options: OpenapiDocumentsOptions
  readonly #files: ApiFiles

  constructor(options: OpenapiDocumentsOptions) {
    this.#options = options
    this.#files = new ApiFiles(options.cache)
  }

  /**
   * What the documents of this configuration describe now. Reaches nobody. `trusted`: by name, the digests of those of the project,
   * which are not used once they hold something else. Contract: never rejects.
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

  async #offerOf(entry: DocumentEntry, trusted: NonNullable<LoadReport['projectDocuments']>): Promise<DocumentExtension> {
    const { name, config: { operations = null, tags = null, paths = null, baseUrl } } = entry
    const place = placeOf(entry, this.#options.workspace, this.#options.home)
    const refuse = (what: string): DocumentExtension => {
      const message = `The OpenAPI document "${name}", ${visibleText(place.path)}, ${visibleText(what)}. It offers no tools.`
      return { extension: undefined, diagnostics: [diagnosticOf(entry, 'ConfigInvalid', message)] }
    }
    const file = await readDocumentFile(place)
    if (!file.ok) return refuse(file.message)
    const isAsTrusted = entry.layer !== 'project' || trusted.get(name) === file.digest
    if (!isAsTrusted) return refuse('has changed since the project was looked at; reload')
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
