import { keyMaterial } from './keys.ts'
import { bytesOf, fields, integer, later, result, text, wrongType, type Native } from './values.ts'

/** Rounds times blocks of output. About three seconds. */
const MAX_ROUNDS = 5_000_000
const MAX_KEY_BYTES = 65_536
/** Output of one block, with SHA-1. */
const BLOCK_BYTES = 20
/** `N * r * p`: about two seconds, and up to 256 MiB, which `memoryMb` counts too. */
const MAX_SCRYPT = 2 ** 21
const SCRYPT_BYTES = 272 * 1024 * 1024

/** Key derivation with bounds: native code that cannot be interrupted. */
export function derivation(native: Native): Readonly<Record<string, unknown>> {
  const pbkdf2Sync = (password: unknown, salt: unknown, rounds: unknown, length: unknown, digest: unknown): Buffer => {
    const bytes = integer('keylen', length, 0, MAX_KEY_BYTES)
    const most = Math.floor(MAX_ROUNDS / Math.ceil(Math.max(bytes, 1) / BLOCK_BYTES))
    return result(native.pbkdf2Sync(
      bytesOf('The password', password), bytesOf('The salt', salt), integer('iterations', rounds, 1, most), bytes,
      text('The digest', digest),
    )) as Buffer
  }
  const scryptSync = (password: unknown, salt: unknown, length: unknown, options?: unknown): Buffer => {
    const given = fields(options, ['N', 'r', 'p', 'cost', 'blockSize', 'parallelization'])
    const N = integer('N', given.N ?? given.cost ?? 16_384, 2, MAX_SCRYPT)
    const r = integer('r', given.r ?? given.blockSize ?? 8, 1, 1024)
    const p = integer('p', given.p ?? given.parallelization ?? 1, 1, 1024)
    integer('N * r * p', N * r * p, 2, MAX_SCRYPT)
    return result(native.scryptSync(
      bytesOf('The password', password), bytesOf('The salt', salt), integer('keylen', length, 0, MAX_KEY_BYTES),
      { N, r, p, maxmem: SCRYPT_BYTES },
    )) as Buffer
  }
  const hkdfSync = (digest: unknown, key: unknown, salt: unknown, info: unknown, length: unknown): ArrayBuffer =>
    new Uint8Array(native.hkdfSync(
      text('The digest', digest), keyMaterial(key), bytesOf('The salt', salt), bytesOf('info', info),
      integer('keylen', length, 0, MAX_KEY_BYTES),
    )).buffer
  const withCallback = (name: string, work: (...args: never[]) => unknown) => (...given: unknown[]): void => {
    const callback = given.pop()
    if (typeof callback !== 'function') throw wrongType(`The last argument of ${name}`, 'a callback')
    later(name, callback, () => [work(...given as never[])])
  }
  return {
    pbkdf2Sync, pbkdf2: withCallback('pbkdf2', pbkdf2Sync), scryptSync, scrypt: withCallback('scrypt', scryptSync),
    hkdfSync, hkdf: withCallback('hkdf', hkdfSync),
  }
}
