import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { Broker } from '../../broker/src/broker.ts'
import { buildImage } from '../src/process/image.ts'
import { startSession } from '../src/session/open.ts'
import { withoutLayers } from '../src/os/os-layers.ts'
import { processStarter } from '../src/process/process-hull.ts'
import { remotePeer } from '../src/session/peer.ts'
import { threadStarter } from '../src/process/thread-hull.ts'
import { refusal, requestOf, REMOTE, running } from './fixture.ts'

interface Gap {
  readonly placement: (typeof REMOTE)[number]
  readonly file: string
  /** The code that is removed, and its replacement. */
  readonly line: string
  readonly instead?: string
  readonly found: RegExp
}

const GAPS: readonly Gap[] = REMOTE.flatMap((placement): readonly Gap[] => [
  { placement, file: 'lockdown.ts', line: 'trimProcess()', found: /process\.\w+ is still there/ },
  {
    placement, file: 'lockdown.ts', line: 'freezeIntrinsics([', instead: 'void ([',
    found: /a prototype can be changed/,
  },
  {
    placement, file: 'main.ts', line: 'lockDown({', instead: '((_options) => undefined)({',
    found: /is still there|can be/,
  },
])

const [first, ...others] = GAPS

async function isNotUsed({ placement, file, line, instead = '', found }: Gap): Promise<void> {
  const image = await buildImage((name, text) => {
    if (name !== file) return text
    expect(text).toContain(line)
    return text.replace(line, instead)
  })
  const start = placement === 'thread'
    ? threadStarter(image)
    : processStarter(image, withoutLayers('of the test'))
  const request = requestOf({ placement, source: running('') })
  const broker = new Broker(request, '/')
  const hull = start(DEFAULT_LIMITS, false).assign(DEFAULT_LIMITS)
  const error = await refusal(startSession(request, broker, remotePeer(hull, broker, DEFAULT_LIMITS)))
  expect([error.code, error.message]).toEqual(['LockdownFailed', expect.stringMatching(found)])
}

it.each([first!])('a compartment in a $placement is not used when lockdown lacks $line', isNotUsed)
it.each(others)('a compartment in a $placement is not used when lockdown lacks $line', LONG, isNotUsed)
