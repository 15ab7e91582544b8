import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BulkheadError, CONFIG_FILE } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isAbsent, makeFolder } from '@bulkhead/kit/folders'
import { homeFolder } from '../facade/folders.ts'
import type { HostValues } from './host-options.ts'
import { replaceFile, writing } from './write-file.ts'

/** Replaces a configuration file. `edit` gets its present content. */
export const changeConfig = (file: string, edit: (written: Uint8Array | undefined) => string): void =>
  writing(file, () => {
    const edited = edit(readIfPresent(file))
    makeFolder(dirname(file), 0o700)
    replaceFile(file, edited)
  })

/** Users may link to their settings: the link stays. */
export function userFile(values: HostValues): string {
  const file = join(homeFolder(values.home), CONFIG_FILE)
  return statSync(file, { throwIfNoEntry: false }) === undefined ? file : realpathSync(file)
}

export function readIfPresent(file: string): Uint8Array | undefined {
  try {
    return isAbsent(file) ? undefined : readFileSync(file)
  } catch (error) {
    throw new BulkheadError('ConfigInvalid', `"${file}" cannot be read: ${messageOf(error)}`, { cause: error })
  }
}
