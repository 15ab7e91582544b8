import { archive, entry, pax } from '../test/files/archive-fixture.ts'
import { manifestOf } from '../test/home-fixture.ts'

export interface ArchiveAttack {
  readonly id: number
  readonly title: string
  readonly bytes: Uint8Array
}

const valid = entry({ name: 'package/bulkhead.json', body: JSON.stringify(manifestOf()) })
const outside = (title: string, ...entries: readonly Buffer[]): ArchiveAttack =>
  ({ id: 256, title, bytes: archive(valid, ...entries) })

/** Archives that would write outside the folder of their package. */
export const ARCHIVE_ATTACKS: readonly ArchiveAttack[] = [
  outside('a file with .. in its path', entry({ name: 'package/../../../evil.js' })),
  outside('a file at an absolute path', entry({ name: '/tmp/evil.js' })),
  outside('a file with a drive letter', entry({ name: 'package/C:\\evil.js' })),
  outside('a file through a link', entry({ name: 'package/out', type: '2', link: '/tmp' }), entry({
    name: 'package/out/evil.js',
  })),
  outside('a file through a hard link', entry({ name: 'package/out', type: '1', link: '/etc/hosts' }), entry({
    name: 'package/out',
  })),
  outside('a file with .. in its extended header', pax('19 path=../../evil\n'), entry({ name: 'package/index.js' })),
  outside('a second manifest over the first', valid),
]
