import { canonicalJson, visibleText, type Json, type ResolvedConfig } from '@bulkhead/contract'
import { sha512 } from '../connected/digest.ts'
import { diagnosticOf } from '../connected/entries.ts'
import type { Offered } from '../connected/offered.ts'
import { baseUrlOf } from './base-url.ts'
import { documentEntries, placeOf, type DocumentEntry } from './document-entry.ts'
import { documentExtension, type DocumentExtension } from './document-extension.ts'
import { readDocumentFile } from './document-file.ts'
import type { Wanted } from './reading/described.ts'
import { readDocument, type DocumentAnswer } from './reading/document-thread.ts'

export interface OpenapiDocumentsOptions {
  /** The canonical path of the project. */
  readonly workspace: string
  /** The folder that what the user names is looked for in. */
  readonly home: string
}

/** The OpenAPI documents of one workspace. None is read before it is asked for, and none twice that is still the same. */
export class OpenapiDocuments {
  readonly #options: OpenapiDocumentsOptions
  #read = new Map<string, Promise<DocumentAnswer>>()

  constructor(options: OpenapiDocumentsOptions) {
    this.#options = options
  }

  /** What the documents of this configuration describe now. Reaches nobody. Contract: never rejects. */
  async offer(config: ResolvedConfig): Promise<Offered> {
    const { entries, diagnostics } = documentEntries(config)
    const known = this.#read
    this.#read = new Map()
    const wanted = entries.filter((entry) => entry.config.enabled !== false)
    const offered = await Promise.all(wanted.map((entry) => this.#offerOf(entry, known)))
    return {
      extensions: offered.flatMap(({ extension }) => extension ?? []),
      diagnostics: [...diagnostics, ...offered.flatMap((one) => one.diagnostics)],
    }
  }

  async #offerOf(entry: DocumentEntry, known: ReadonlyMap<string, Promise<DocumentAnswer>>): Promise<DocumentExtension> {
    const { name, config } = entry
    const place = placeOf(entry, this.#options.workspace, this.#options.home)
    const refuse = (what: string): DocumentExtension => {
      const message = `The OpenAPI document "${name}", ${visibleText(place.path)}, ${visibleText(what)}. It offers no tools.`
      return { extension: undefined, diagnostics: [diagnosticOf(entry, 'ConfigInvalid', message)] }
    }
    const file = await readDocumentFile(place)
    if (!file.ok) return refuse(file.message)
    const { operations = null, tags = null, paths = null, baseUrl } = config
    const wanted: Wanted = { operations, tags, paths, hasBaseUrl: baseUrl !== undefined }
    const key = sha512(`${canonicalJson(wanted as unknown as Json)}\0${file.text}`)
    const reading = known.get(key) ?? this.#read.get(key) ?? readDocument({ text: file.text, wanted })
    this.#read.set(key, reading)
    const answer = await reading
    if (!answer.ok) return refuse(answer.message)
    const verdict = baseUrlOf(baseUrl, answer.api.server)
    return verdict.ok ? documentExtension(entry, place.path, answer.api, verdict.base) : refuse(verdict.message)
  }
}
