import { MessageChannel, Worker } from 'node:worker_threads'
import type { CompartmentLimits, CompartmentRequest, CompartmentSession } from '@bulkhead/contract'
import { Broker } from '../../src/main/broker/broker.ts'
import type { Hull } from '../../src/main/hull.ts'
import { termsOf, threadOptions } from '../../src/main/hull.ts'
import type { Image } from '../../src/main/image.ts'
import { loadImage } from '../../src/main/image.ts'
import { startSession } from '../../src/main/open.ts'
import { withoutLayers } from '../../src/main/os/os-layers.ts'
import { processStarter } from '../../src/main/process-hull.ts'
import { remotePeer } from '../../src/main/remote-peer.ts'
import { portTransport } from '../../src/wire/port-transport.ts'
import type { Layers } from '../layers.ts'
import { hostileWorker, withoutLockdown, withoutPermissionInHull, withPermissionGone } from './patched-image.ts'

const images = new Map<string, Promise<Image>>()

/** A compartment with some layers gone, or with a worker that is the attacker's from its first line. */
export async function openWithLayers(
  request: CompartmentRequest, workspace: string, layers: Layers, inWorker: 'compartment' | 'wire',
): Promise<CompartmentSession> {
  const { placement, limits } = request
  const key = JSON.stringify([layers, inWorker])
  const building = images.get(key) ?? imageFor(layers, inWorker)
  images.set(key, building)
  const image = await building
  const hull = placement === 'process'
    ? processStarter(image, withoutLayers('the corpus looks at the other layers'))(limits, false).assign(limits)
    : startBareThread(image, limits, layers.native)
  const broker = new Broker(request, workspace)
  return startSession(request, broker, remotePeer(hull, broker, limits))
}

async function imageFor({ lockdown, native }: Layers, inWorker: 'compartment' | 'wire'): Promise<Image> {
  let image = await loadImage()
  if (inWorker === 'wire') image = await hostileWorker(image)
  else if (!lockdown) image = await withoutLockdown()
  else if (!native) image = await withPermissionGone()
  return native ? image : withoutPermissionInHull(image)
}

/** As the thread placement starts one, but for the permission and for Piscina, which would not let it be left out. */
function startBareThread({ boot, script, author }: Image, limits: CompartmentLimits, native: boolean): Hull {
  const { port1: ours, port2: theirs } = new MessageChannel()
  // Taken before lockdown, after which nothing can be asked for any more.
  const taken = "const corpusStart = require('node:worker_threads').workerData; const corpusModule = module"
  const worker = new Worker(`${taken}\n${boot}\ncorpusModule.exports.task?.then((task) => task(corpusStart))`, {
    ...threadOptions(limits),
    ...(!native && { execArgv: ['--no-warnings'] }),
    eval: true,
    stdout: true,
    stderr: true,
    workerData: { script, author, spare: false, readable: [], inHull: false, port: theirs, terms: termsOf(limits) },
    transferList: [theirs],
  })
  worker.on('error', () => undefined)
  return {
    transport: portTransport(ours),
    ready: Promise.resolve(true),
    exited: new Promise((resolve) => {
      worker.once('exit', (code) => {
        ours.close()
        resolve({ kind: 'crashed', text: `its thread ended with code ${code}` })
      })
    }),
    kill: () => void worker.terminate(),
  }
}
