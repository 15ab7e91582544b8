import { resolve } from 'node:path'
import type { ConfigFile } from '@bulkhead/contract'
import { sha512 } from '../digest.ts'
import { readRegularFile } from '../files/read-file.ts'
import type { LoaderLimits } from '../limits.ts'
import type { ProjectPart } from './project-digest.ts'

/** The documents that a project's configuration has tools made of: they are as much of the project as its extensions are. */
export const documentParts = (
  { openapi = {} }: Pick<ConfigFile, 'openapi'>, workspace: string, { fileBytes: maxBytes }: Pick<LoaderLimits, 'fileBytes'>,
): readonly ProjectPart[] => Object.entries(openapi).map(([name, { document }]) => {
  const file = readRegularFile(resolve(workspace, document), { maxBytes })
  return { name: `openapi/${name}`, digest: file.ok ? sha512(file.bytes) : null }
})
