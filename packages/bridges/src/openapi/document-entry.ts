import { isAbsolute, resolve } from 'node:path'
import type { OpenapiConfig, ResolvedConfig } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { sha512 } from '../connected/digest.ts'
import { entriesOf, type Entries, type Entry, type EntryKind } from '../connected/entries.ts'
import { findSecretFault } from '../connected/open-line.ts'

/** A document of the configuration that may be used. Its identity is over all that is said of it but how long and whether. */
export type DocumentEntry = Entry<OpenapiConfig>

const DOCUMENTS: EntryKind<OpenapiConfig, DocumentEntry> = {
  key: 'openapi', noun: 'document',
  read: ({ openapi }) => openapi,
  make: (entry) => {
    const { enabled: _, timeoutMs: _ms, ...said } = entry.config
    return { ...entry, identity: sha512(canonicalJson(said as unknown as Json)) }
  },
  findFault({ baseUrl, auth }) {
    if (baseUrl !== undefined) return findSecretFault(baseUrl, auth !== undefined) ?? findBaseFault(baseUrl)
    // Whoever writes the document could have the secret sent to any place.
    return auth === undefined ? undefined : 'says how requests are authorised and not where they go; name the place in "baseUrl"'
  },
}

export const documentEntries = (config: Pick<ResolvedConfig, 'layers'>): Entries<DocumentEntry> => entriesOf(config, DOCUMENTS)

const findBaseFault = (url: string): string | undefined =>
  /[?#]/.test(url) ? 'has a "baseUrl" with a query or a fragment; leave it out' : undefined

export interface DocumentPlace {
  readonly path: string
  /** What it must lie in once links are followed; undefined where whoever names it may name any file. */
  readonly within: string | undefined
}

/**
 * Where a document is. A project's lies in its folder. What the user names counts from the folder of the user's configuration and
 * never from the workspace: what stands there may be that of a project nobody trusts.
 */
export function placeOf({ layer, config: { document } }: DocumentEntry, workspace: string, home: string): DocumentPlace {
  if (layer === 'project') return { path: resolve(workspace, document), within: workspace }
  return { path: isAbsolute(document) ? document : resolve(home, document), within: undefined }
}
