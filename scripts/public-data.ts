import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Public test data that is not part of the repository. Undefined if no folder above the repository has it. */
export function publicData(name: string, from = import.meta.dirname): string | undefined {
  const path = join(from, 'shared/fixtures', name)
  if (existsSync(path)) return path
  return dirname(from) === from ? undefined : publicData(name, dirname(from))
}
