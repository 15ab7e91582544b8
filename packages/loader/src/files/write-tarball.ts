import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { byteOrder } from '../model/digest.ts'
import { BLOCK, paxRecord, writeHeader } from './tar-format.ts'

/** The folder that everything is in, as npm has it. */
const TOP = 'package'
/** Some moment that is the same for everyone; not zero, which some programs take for none. 1985-10-26, as npm. */
const MTIME = 499_162_500
const NAME_BYTES = 100

/** A gzipped tar with the same bytes for the same files, whoever makes it, wherever and whenever. */
export async function writeTarball(files: ReadonlyMap<string, Uint8Array>): Promise<Uint8Array> {
  const blocks = [...files.keys()].toSorted(byteOrder).flatMap((path) => entryOf(`${TOP}/${path}`, files.get(path)!))
  const zipped = await promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
  // Where zlib notes the system it ran on: unknown.
  zipped[9] = 0xff
  return zipped
}

function entryOf(name: string, bytes: Uint8Array): readonly Uint8Array[] {
  const fits = Buffer.byteLength(name) <= NAME_BYTES
  const header = (short: string, size: number, type: string) => writeHeader({ name: short, size, type }, MTIME)
  const record = Buffer.from(paxRecord('path', name))
  return [
    ...(fits ? [] : [header('PaxHeader', record.length, 'x'), ...padded(record)]),
    header(fits ? name : 'package/long-name', bytes.length, '0'), ...padded(bytes),
  ]
}

const padded = (bytes: Uint8Array): readonly Uint8Array[] => [bytes, Buffer.alloc((BLOCK - bytes.length % BLOCK) % BLOCK)]
