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
  outside('has a file with .. in its path', entry({ name: 'package/../../../evil.js' })),
  outside('has a file at an absolute path', entry({ name: '/tmp/evil.js' })),
  outside('has a file with a drive letter', entry({ name: 'package/C:\\evil.js' })),
  outside('writes a file through a link', entry({ name: 'package/out', type: '2', link: '/tmp' }), entry({
    name: 'package/out/evil.js',
  })),
  outside('writes a file through a hard link', entry({ name: 'package/out', type: '1', link: '/etc/hosts' }), entry({
    name: 'package/out',
  })),
  outside('has .. in the extended header of a file', pax('19 path=../../evil\n'), entry({ name: 'package/index.js' })),
  outside('replaces the manifest by a second one', valid),
]
