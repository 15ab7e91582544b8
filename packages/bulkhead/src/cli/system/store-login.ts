import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { writePrivateFile } from '@bulkhead/kit/private-file'
import { UsageError, type ValuesOf } from '../command.ts'
import { type RECORDS_OPTIONS, storeHere } from '../host-options.ts'

type LoginValues = ValuesOf<typeof RECORDS_OPTIONS> & { readonly folder?: string | undefined }

/** Throws ConfigInvalid. */
export function savePassword(file: string, password: string, what: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writePrivateFile(file, `${password}\n`)
  } catch (error) {
    const why = `The password cannot be written to ${file} (${messageOf(error)}), so no ${what} was added.`
    throw new BulkheadError('ConfigInvalid', `${why} Choose another --folder.`)
  }
}

/** The server, and where the passwords are. Rejects with UsageError for a file. */
export async function loginPlace({ folder, ...place }: LoginValues, usualFolder: (home: string | undefined) => string) {
  const chosen = await storeHere(place)
  if (chosen.kind === 'file') {
    throw new UsageError('The store is a file, which has one tenant and no workers. For PostgreSQL, use --store or set BULKHEAD_STORE.')
  }
  const { postgresPackage } = await import('../../facade/store-choice.ts')
  const postgres = await postgresPackage()
  const named = folder === undefined ? postgres.readStoreUrl(chosen.url).tenants : resolve(folder)
  const files = named ?? usualFolder(place.home)
  return { url: chosen.url, postgres, fileOf: (name: string) => join(files, name), isUsual: folder === undefined }
}
