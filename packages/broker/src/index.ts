export { isResourceShortage, mentionsResourceShortage } from '@bulkhead/kit/processes'
export { Broker, foldersOf, preloadCode, publicError, type BrokerMethods, type BrokerOptions } from './broker.ts'
export { previewDiff } from './fs/preview.ts'
export { recoverUpdates } from './fs/update-journal.ts'
export { powersOf, refuseUnenforceable, type OpenCall } from './model/capability.ts'
export { loadKeyCode, openRelay, RELAY_SOCKET, type Relay, type RelayOptions } from './net/relay.ts'
export { inheritableDescriptors, isInheritable, resourceShortage, startMasked } from './process/spawn.ts'
export {
  coversIn, mountOptions, mountsOf, NO_PRIVILEGES, READ_ONLY_PROC, sensitivePaths, systemMounts, type Mount,
} from './process/mounts.ts'
export { holdMountPoint, type MountPoint } from './shell/command-sandbox.ts'
export { UsedSecrets } from './secrets/vault.ts'
export type { OperatorEnvironment } from './shell/command-environment.ts'
export { commandsAreConfined } from './shell/starter.ts'
