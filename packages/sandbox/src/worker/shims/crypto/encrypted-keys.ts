import { Buffer } from 'node:buffer'
import { integer } from './values.ts'

/** Rounds of the key derivation in an encrypted key. About three seconds. */
const MAX_ROUNDS = 5_000_000
const INTEGER = 0x02
const CONSTRUCTED = 0x20
const LONG_TAG = 0x1f
const MAX_DEPTH = 16

/** A key as text. Older forms, with the name of their kind, derive in one round. */
const PEM = /-----BEGIN ((?:(?:ENCRYPTED|RSA|EC) )?PRIVATE KEY)-----((?:(?!-----)[^])*)-----END \1-----/

/**
 * The same private key, for Node. An encrypted one says how long its decryption takes, which cannot be interrupted.
 * Text is written again from the bytes that were checked, because parsers of it differ. Undefined for a text without a
 * private key. Contract: throws for a key that would take very long, and for one that cannot be read.
 */
export function checkedKey(key: Buffer, isText: boolean): Buffer | string | undefined {
  if (!isText) {
    checkRounds(key)
    return key
  }
  const [whole, label = '', body = ''] = PEM.exec(key.toString('latin1')) ?? []
  if (whole === undefined) return undefined
  if (/^(?:RSA|EC)/.test(label)) return `${whole}\n`
  const bytes = Buffer.from(body, 'base64')
  checkRounds(bytes)
  return `-----BEGIN ${label}-----\n${bytes.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`
}

/** The algorithm is the first part of the key. The numbers in it are rounds, or the costs of scrypt. */
function checkRounds(bytes: Buffer): void {
  const key = element(bytes, 0)
  const algorithm = element(bytes, key.start)
  integer('The number of rounds of an encrypted key', product(bytes, algorithm, 0), 0, MAX_ROUNDS)
}

interface Element {
  readonly tag: number
  readonly start: number
  readonly end: number
}

function product(bytes: Buffer, { tag, start, end }: Element, depth: number): number {
  if (depth > MAX_DEPTH) throw unreadable()
  if (tag === INTEGER) return Number(`0x${bytes.toString('hex', start, end)}`)
  if ((tag & CONSTRUCTED) === 0) return 1
  let result = 1
  for (let at = start; at < end;) {
    const inner = element(bytes, at)
    result *= product(bytes, inner, depth + 1)
    at = inner.end
  }
  return result
}

/** Only the forms that every writer of keys uses: a short tag, and a length of up to four bytes. */
function element(bytes: Buffer, at: number): Element {
  const [tag = LONG_TAG, short = 0] = bytes.subarray(at, at + 2)
  const count = short < 0x80 ? 0 : short - 0x80
  if ((tag & LONG_TAG) === LONG_TAG || short === 0x80 || count > 4) throw unreadable()
  const start = at + 2 + count
  const length = count === 0 ? short : Number(`0x${bytes.toString('hex', at + 2, start)}`)
  if (!(start + length <= bytes.length)) throw unreadable()
  return { tag, start, end: start + length }
}

const unreadable = (): TypeError => new TypeError('The encrypted key cannot be read.')
