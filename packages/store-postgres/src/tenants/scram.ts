import { createHmac, hash, pbkdf2Sync, randomBytes } from 'node:crypto'

const ROUNDS = 4_096
const KEY_BYTES = 32
const SALT_BYTES = 16

/** A password that nobody has to type. It has ASCII only, so the server prepares it as it is. */
export const newPassword = (): string => randomBytes(KEY_BYTES).toString('base64url')

/** What the server keeps of a password (RFC 5803). So its logs and its list of statements never have the password. */
export function scramVerifier(password: string): string {
  const salt = randomBytes(SALT_BYTES)
  const salted = pbkdf2Sync(password, salt, ROUNDS, KEY_BYTES, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = hash('sha256', keyed('Client Key'), 'base64')
  return `SCRAM-SHA-256$${ROUNDS}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`
}
