export { isResourceShortage, mentionsResourceShortage } from '@bulkhead/kit/processes'
export { Broker, foldersOf, preloadCode, publicError, type BrokerMethods, type BrokerOptions } from './broker.ts'
export { previewDiff } from './fs/preview.ts'
export { whyUnrecorded } from './fs/snapshot/snapshot.ts'
export { recoverUpdates } from './fs/update-journal.ts'
export { powersOf, refuseUnenforceable, type OpenCall } from './model/capability.ts'
export { besideRelay, proxyVariables, RELAY_INSIDE, relayCode, relayMount } from './net/inner-relay.ts'
export { loadKeyCode, openRelay, RELAY_SOCKET, type Relay, type RelayOptions } from './net/relay.ts'
export { inheritableDescriptors, isInheritable, resourceShortage, startMasked } from './process/spawn.ts'
export {
  coversIn, mountOptions, mountsOf, NO_PRIVILEGES, READ_ONLY_PROC, sensitivePaths, systemMounts, type Mount,
} from './process/mounts.ts'
export { holdMountPoint, type MountPoint } from './process/mount-point.ts'
export { UsedSecrets } from './secrets/vault.ts'
export type { OperatorEnvironment } from './shell/command-environment.ts'
export { commandWalls } from './shell/starter.ts'
export { commandRefusals } from './shell/starters.ts'
export { hullFilter, launcherFilter, serverFilter, type FilteredPowers, type SocketPower } from './walls/filter-rules.ts'
export { ownNetwork, RELAY_URL } from './walls/own-network.ts'
export { Grants } from './walls/grants.ts'
export { openPrivateFolder } from './shell/private-folder.ts'
export { findPlaces } from './shell/workspace-places.ts'
export { findDenied, notHidden, tooManyHidden } from './shell/denied-places.ts'
export { ruleSet, type FileGrants, type RuleSet, type TcpGrants } from './walls/landlock.ts'
export {
  encodeOrder, launch, launcherCommand, LaunchError, SpareLauncher, type Launch, type Launched, type LaunchStdio,
  type LaunchWall,
} from './walls/launcher.ts'
export { lookWall, provenWall, type TrialPlaces, type WallTrial } from './walls/trial.ts'
