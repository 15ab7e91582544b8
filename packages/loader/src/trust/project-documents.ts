import { resolve } from 'node:path'
import type { ConfigFile } from '@bulkhead/contract'
import { sha512 } from '../model/digest.ts'
import { readRegularFile } from '../files/read-file.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { ProjectPart } from './project-digest.ts'

/** By name, the digests of the documents that a project's configuration has tools made of; null where one cannot be read. */
export type ProjectDocuments = ReadonlyMap<string, string | null>

export const readDocuments = (
  { openapi = {} }: Pick<ConfigFile, 'openapi'>, workspace: string, { fileBytes: maxBytes }: Pick<LoaderLimits, 'fileBytes'>,
): ProjectDocuments => new Map(Object.entries(openapi).map(([name, { document }]) => {
  const file = readRegularFile(resolve(workspace, document), { maxBytes })
  return [name, file.ok ? sha512(file.bytes) : null]
}))

/** They are as much of the project as its extensions are. */
export const documentParts = (documents: ProjectDocuments): readonly ProjectPart[] =>
  [...documents].map(([name, digest]) => ({ name: `openapi/${name}`, digest }))
