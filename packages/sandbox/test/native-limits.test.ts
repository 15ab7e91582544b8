import nativeCrypto from 'node:crypto'
import { expect, it } from 'vitest'
import { derivation } from '../src/worker/shims/crypto/derive.ts'
import { checkedKey } from '../src/worker/shims/crypto/encrypted-keys.ts'
import { hashing } from '../src/worker/shims/crypto/hashes.ts'
import { randomValues } from '../src/worker/shims/crypto/random.ts'

type Shim = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>
const { pbkdf2Sync, scryptSync, createHash, randomBytes } =
  { ...derivation(nativeCrypto), ...hashing(nativeCrypto), ...randomValues(nativeCrypto) } as Shim

/** A number in lists inside each other, as an encrypted key says its rounds. */
const keyWith = (rounds: number, depth: number): Buffer => {
  const number = Buffer.from([0x02, 4, 0, 0, 0, 0])
  number.writeUInt32BE(rounds, 2)
  let list = number
  for (let level = 0; level < depth; level++) list = Buffer.concat([Buffer.from([0x30, list.length]), list])
  return Buffer.concat([Buffer.from([0x30, list.length]), list])
}

it.each<[string, () => unknown, string]>([
  ['rounds of pbkdf2', () => pbkdf2Sync!('p', 's', 5_000_001, 20, 'sha1'), 'iterations'],
  ['rounds of pbkdf2 for several blocks', () => pbkdf2Sync!('p', 's', 2_500_001, 21, 'sha1'), 'iterations'],
  ['a longer key of pbkdf2', () => pbkdf2Sync!('p', 's', 1, 65_537, 'sha1'), 'keylen'],
  ['work of scrypt', () => scryptSync!('p', 's', 16, { N: 2 ** 15, r: 8, p: 9 }), 'N * r * p'],
  ['a longer key of scrypt', () => scryptSync!('p', 's', 65_537, { N: 2, r: 1, p: 1 }), 'keylen'],
  ['output of a hash', () => createHash!('shake256', { outputLength: 65_537 }), 'outputLength'],
  ['random bytes at once', () => randomBytes!(64 * 1024 * 1024 + 1), 'size'],
  ['rounds of an encrypted key', () => checkedKey(keyWith(5_000_001, 1), false), 'The number of rounds'],
  ['lists in an encrypted key', () => checkedKey(keyWith(1, 18), false), 'cannot be read'],
])('native work that cannot be interrupted is bounded: %s', (_, work, message) => {
  expect(work).toThrow(message)
})

it('native work may reach its bounds', () => {
  expect((pbkdf2Sync!('p', 's', 1, 65_536, 'sha1') as Buffer).length).toBe(65_536)
  expect(checkedKey(keyWith(5_000_000, 16), false)).toHaveLength(keyWith(5_000_000, 16).length)
})
