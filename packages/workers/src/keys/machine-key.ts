import {
  createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject,
} from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'

/** What this machine signs with. */
export interface MachineKey {
  /** Of the form that `isPublicKey` accepts. */
  readonly publicKey: string
  /** `purpose`: what is signed for another one does not count. */
  sign(purpose: string, bytes: Uint8Array): Buffer
}

/** An Ed25519 key of 32 bytes as base64url. */
const PUBLIC_KEY = /^ed25519:[A-Za-z0-9_-]{43}$/

export const isPublicKey = (text: unknown): text is string => typeof text === 'string' && PUBLIC_KEY.test(text)

function machineKey(privateKey: KeyObject): MachineKey {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' })
  return {
    publicKey: `ed25519:${x!}`,
    sign: (purpose, bytes) => sign(null, message(purpose, bytes), privateKey),
  }
}

/** For tests, and for programs that keep their key elsewhere. */
export const newMachineKey = (): MachineKey => machineKey(generateKeyPairSync('ed25519').privateKey)

/** Reads the key of this machine, and makes it where there is none. Throws ConfigInvalid. */
export function openMachineKey(file: string): MachineKey {
  try {
    const pem = readPrivateFile(file) ?? newKeyFile(file)
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return machineKey(key)
    throw new Error('it is not an Ed25519 key')
  } catch (error) {
    const why = messageOf(error).replace(/\.$/, '')
    const message = `The key of this machine at ${file} cannot be used: ${why}. Correct its permissions, or remove it: `
      + 'then a new key is made, which others have to trust again.'
    throw new BulkheadError('ConfigInvalid', message, { cause: error })
  }
}

function newKeyFile(file: string): string {
  mkdirSync(dirname(file), { recursive: true })
  const pem = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  writePrivateFile(file, pem)
  return pem
}

const parsed = new Map<string, KeyObject>()

/** Whether the owner of the key signed these bytes for this purpose. Contract: never throws. */
export function isSignedBy(publicKey: string, purpose: string, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (!isPublicKey(publicKey)) return false
  try {
    const key = parsed.getOrInsertComputed(publicKey, () => createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: publicKey.slice('ed25519:'.length) }, format: 'jwk',
    }))
    return verify(null, message(purpose, bytes), key, signature)
  } catch {
    return false
  }
}

const message = (purpose: string, bytes: Uint8Array): Buffer => Buffer.concat([Buffer.from(`${purpose}\0`), bytes])
