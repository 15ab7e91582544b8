import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

const IN_SHARED = 'shared/fixtures/openapi'

/** Public documents, if a folder above the repository contains them. */
export function findDocuments(from = import.meta.dirname): string | undefined {
  if (existsSync(join(from, IN_SHARED))) return join(from, IN_SHARED)
  return dirname(from) === from ? undefined : findDocuments(dirname(from))
}
