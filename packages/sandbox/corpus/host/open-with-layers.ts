import { MessageChannel, Worker } from 'node:worker_threads'
import type { CompartmentLimits, CompartmentRequest, CompartmentSession } from '@bulkhead/contract'
import { Broker } from '@bulkhead/broker'
import type { Hull } from '../../src/process/hull.ts'
import { termsOf, threadOptions } from '../../src/process/hull.ts'
import type { Image } from '../../src/process/image.ts'
import { loadImage } from '../../src/process/image.ts'
import { startSession } from '../../src/session/open.ts'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { probeOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { processStarter } from '../../src/process/process-hull.ts'
import { remotePeer } from '../../src/session/peer.ts'
import type { CompartmentTask, WorkerStart } from '../../src/wire/protocol.ts'
import { portTransport } from '../../src/wire/transport.ts'
import type { Layers } from '../model/layers.ts'
import { hostileWorker, withoutLockdown, withoutPermissionInHull, withPermissionGone } from './patched-image.ts'

const NO_SYSTEM = withoutLayers('the corpus looks at the other layers')
const images = new Map<string, Promise<Image>>()

/** A compartment without some layers, or with a worker that the attacker controls. */
export async function openWithLayers(
  request: CompartmentRequest, workspace: string, layers: Layers, inWorker: 'compartment' | 'wire',
  system: OsLayers = NO_SYSTEM,
): Promise<CompartmentSession> {
  const { placement, limits } = request
  const key = JSON.stringify([layers, inWorker])
  const building = images.get(key) ?? imageFor(layers, inWorker)
  images.set(key, building)
  const image = await building
  const hull = placement === 'process'
    ? processStarter(image, system)(limits, false).assign(limits)
    : startBareThread(image, limits, layers.native)
  const broker = new Broker(request, workspace)
  return startSession(request, broker, remotePeer(hull, broker, limits))
}

let fallback: Promise<OsLayers> | undefined

/** The layers of a process if bubblewrap is not installed. */
export function systemWithoutBubblewrap(): Promise<OsLayers> {
  fallback ??= probeOsLayers({
    node: process.execPath, platform: process.platform, architecture: process.arch, folders: ['/usr/bin', '/bin'],
    hidden: ['bwrap'], timeoutMs: 30_000,
  // The corpus looks at limits elsewhere.
  }).then((layers) => ({ ...layers, rlimits: NO_SYSTEM.rlimits }))
  return fallback
}

async function imageFor({ lockdown, native }: Layers, inWorker: 'compartment' | 'wire'): Promise<Image> {
  let image = await loadImage()
  if (inWorker === 'wire') image = await hostileWorker(image)
  else if (!lockdown) image = await withoutLockdown()
  else if (!native) image = await withPermissionGone()
  return native ? image : withoutPermissionInHull(image)
}

/** Like the thread placement, but without the permission model. */
function startBareThread({ boot, script, author }: Image, limits: CompartmentLimits, native: boolean): Hull {
  const { port1: ours, port2: theirs } = new MessageChannel()
  const worker = new Worker(boot, {
    ...threadOptions(limits),
    ...(!native && { execArgv: ['--no-warnings'] }),
    eval: true,
    stdout: true,
    stderr: true,
    workerData: { script, author, spare: false, inHull: false } satisfies WorkerStart,
  })
  worker.postMessage({ port: theirs, terms: termsOf(limits) } satisfies CompartmentTask, [theirs])
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
