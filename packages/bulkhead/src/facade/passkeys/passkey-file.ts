import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { BulkheadError, type Passkey } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { withFileLock } from '@bulkhead/kit/file-lock'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'
import { readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'
import { homeFolder } from '../folders.ts'

/** A passkey of the user. A removed one stays, so that the audit can be verified, and counts no more. */
export interface OwnPasskey extends Omit<Passkey, 'origins'> {
  /** The page on which it was made. */
  readonly origin: string
  /** ISO 8601. */
  readonly created: string
  readonly removed?: string
}

export interface PasskeyFile {
  /** With it, pages of this user vouch for where they showed a question. */
  readonly secret: string
  readonly passkeys: readonly OwnPasskey[]
}

/** Not in the store: who can write that must not be able to add a passkey. No tool can read or write the home. */
export const passkeyFile = (home: string | undefined): string => join(homeFolder(home), 'passkeys.json')

/** undefined if there is none. Throws StoreUnavailable if it cannot be understood, or other users can access it. */
export function readPasskeys(file: string): PasskeyFile | undefined {
  try {
    const text = readPrivateFile(file)
    if (text === undefined) return undefined
    const parsed = parseJson(text)
    const { secret, passkeys } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
    const isFile = typeof secret === 'string' && secret.length >= 32 && Array.isArray(passkeys) && passkeys.every(isPasskey)
    if (!isFile) throw new Error('it is not a list of passkeys')
    return { secret, passkeys: passkeys as unknown as readonly OwnPasskey[] }
  } catch (error) {
    const cure = 'Restore it with mode 0600, or delete it and add the passkeys again.'
    throw new BulkheadError('StoreUnavailable', `The passkeys in ${file} cannot be used: ${messageOf(error)}. ${cure}`)
  }
}

/** Replaces the passkeys. Two commands at the same time lose none. Rejects with StoreUnavailable. */
export async function changePasskeys(
  file: string, change: (before: readonly OwnPasskey[]) => readonly OwnPasskey[],
): Promise<void> {
  try {
    await withFileLock(join(dirname(file), 'locks', 'passkeys'), () => {
      const { secret, passkeys } = readPasskeys(file) ?? { secret: randomBytes(32).toString('base64url'), passkeys: [] }
      writePrivateFile(file, `${JSON.stringify({ secret, passkeys: change(passkeys) }, null, 2)}\n`)
    })
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    throw new BulkheadError('StoreUnavailable', `The passkeys in ${file} cannot be changed: ${messageOf(error)}`)
  }
}

const TEXTS = ['name', 'id', 'publicKey', 'rpId', 'origin', 'created'] as const

const isPasskey = (value: Json): boolean => isJsonObject(value) && TEXTS.every((name) => typeof value[name] === 'string')
  && (value['removed'] === undefined || typeof value['removed'] === 'string')
