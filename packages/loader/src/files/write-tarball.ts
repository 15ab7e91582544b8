import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { byteOrder } from '../model/digest.ts'
import { BLOCK, paxRecord, writeHeader } from './tar-format.ts'

/** The top-level folder, as in npm packages. */
const TOP = 'package'
/** A fixed time, 1985-10-26 as in npm packages. Some programs treat zero as missing. */
const MTIME = 499_162_500
const NAME_BYTES = 100

/** A gzipped tar that is reproducible: the same files give the same bytes. */
export async function writeTarball(files: ReadonlyMap<string, Uint8Array>): Promise<Uint8Array> {
  const blocks = [...files.keys()].toSorted(byteOrder).flatMap((path) => entryOf(`${TOP}/${path}`, files.get(path)!))
  const zipped = await promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
  // The operating system field of gzip: unknown.
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
