import { shimModule, type ShimHost } from '../host.ts'
import { ciphers } from './ciphers.ts'
import { derivation } from './derive.ts'
import { hashing } from './hashes.ts'
import { keys } from './keys.ts'
import { randomValues } from './random.ts'
import { signatures } from './signatures.ts'
import { subtleOver } from './subtle.ts'
import type { Native } from './values.ts'
import { CryptoKey } from './web-keys.ts'

/** Names of the constants of padding and signatures. Others are about connections. */
const CONSTANTS = /^RSA_|^POINT_/

/** `node:crypto`. Bytes, strings and numbers go to Node's; its objects stay private. */
export function cryptoModule(host: ShimHost): object {
  const native = host.native('crypto') as Native
  const derive = derivation(native)
  const subtle = subtleOver(native, derive as Parameters<typeof subtleOver>[1])
  const random = randomValues(native)
  const { getRandomValues } = crypto
  const webcrypto = Object.freeze({ subtle, getRandomValues, randomUUID: random['randomUUID'], CryptoKey })
  const constants = Object.freeze(Object.fromEntries(Object.entries(native.constants).filter(([name]) =>
    CONSTANTS.test(name))))
  return shimModule(host, 'crypto', {
    ...hashing(native), ...random, ...derive, ...ciphers(native), ...keys(native), ...signatures(native), constants,
    webcrypto, subtle, getRandomValues, getFips: () => 0,
  }, Object.keys(native))
}
