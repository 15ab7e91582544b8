import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { Broker } from '../../broker/src/broker.ts'
import { loadImage } from '../src/process/image.ts'
import { startSession } from '../src/session/open.ts'
import { withoutLayers } from '../src/os/os-layers.ts'
import { processStarter } from '../src/process/process-hull.ts'
import { remotePeer } from '../src/session/peer.ts'
import { refusal, requestOf, running } from './fixture.ts'

const CROWDED = fileURLToPath(new URL('./fixtures/crowded-host.ts', import.meta.url))

describe('a hull that did not get to the code of the extension', () => {
  it.each([
    ['ended', 'process.abort()', 60_000],
    ['was not ready in time', 'setInterval(() => {}, 1000)', 500],
  ])('because it %s is not reported as an error of that code', async (_, hullSource, startMs) => {
    const start = processStarter({ ...await loadImage(), hull: hullSource }, withoutLayers('it is not wanted here'))
    const limits = { ...DEFAULT_LIMITS, startMs }
    const request = requestOf({ placement: 'process', source: running(''), limits })
    const hull = start(limits, false).assign(limits)
    onTestFinished(() => hull.kill())
    const broker = new Broker(request, '/')
    const { code, message } = await refusal(startSession(request, broker, remotePeer(hull, broker, limits)))
    expect([code, message])
      .toEqual(['NoPlaceFree', expect.stringMatching(/^No process could be started for example: /)])
  })

  it('because there were no descriptors can be opened again when there are', LONG, async () => {
    const script = `ulimit -n 512; exec '${process.execPath}' --no-warnings '${CROWDED}'`
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script])
    expect(JSON.parse(stdout)).toEqual({
      before: ['runs', 'runs'], crowded: ['NoPlaceFree', 'NoPlaceFree'], after: ['runs', 'runs'],
    })
  })
})
