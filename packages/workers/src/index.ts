export { FleetCaller, type CallerOptions } from './caller/fleet-caller.ts'
export { openRemote } from './caller/open-remote.ts'
export {
  addToFleet, FLEET_KINDS, readFleet, removeFromFleet, type Fleet, type FleetKind, type TrustedKey, type TrustedPackage,
} from './keys/fleet-file.ts'
export { isPublicKey, newMachineKey, openMachineKey, type MachineKey } from './keys/machine-key.ts'
export { serveHealth } from './worker/health.ts'
export type { EndedCall, WorkerOptions, WorkerPlace } from './worker/worker-options.ts'
export { serveWorker, type Worker } from './worker/worker.ts'
