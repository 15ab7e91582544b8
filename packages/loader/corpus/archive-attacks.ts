import { archive, entry, pax } from '../test/files/archive-fixture.ts'
import { manifestOf } from '../test/home-fixture.ts'

export interface ArchiveAttack {
  readonly id: number
  readonly title: string
  readonly bytes: Uint8Array
}

const honest = entry({ name: 'package/bulkhead.json', body: JSON.stringify(manifestOf()) })
const slip = (title: string, ...entries: readonly Buffer[]): ArchiveAttack => ({ id: 256, title, bytes: archive(honest, ...entries) })

/** Archives that would write elsewhere than into the folder of their package. */
export const ARCHIVE_ATTACKS: readonly ArchiveAttack[] = [
  slip('a file that climbs out', entry({ name: 'package/../../../evil.js' })),
  slip('a file at an absolute path', entry({ name: '/tmp/evil.js' })),
  slip('a file on a drive', entry({ name: 'package/C:\\evil.js' })),
  slip('a file through a link', entry({ name: 'package/out', type: '2', link: '/tmp' }), entry({ name: 'package/out/evil.js' })),
  slip('a file through a hard link', entry({ name: 'package/out', type: '1', link: '/etc/hosts' }), entry({ name: 'package/out' })),
  slip('a file whose extended header climbs out', pax('19 path=../../evil\n'), entry({ name: 'package/index.js' })),
  slip('a second manifest over the first', honest),
]
