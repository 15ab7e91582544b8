import type { Mutant } from '../mutant.ts'
import { BROKER_COMMAND_PROMISES } from './broker/command-promises.ts'
import { BROKER_COMMANDS } from './broker/commands.ts'
import { BROKER_FILE_PROMISES } from './broker/file-promises.ts'
import { BROKER_FILES } from './broker/files.ts'
import { BROKER_SEARCHES } from './broker/searches.ts'
import { BROKER_SERVICES } from './broker/services.ts'
import { BROKER_TRAFFIC } from './broker/traffic.ts'
import { BROKER_TRAFFIC_PROMISES } from './broker/traffic-promises.ts'

export const BROKER: readonly Mutant[] = [
  ...BROKER_COMMANDS, ...BROKER_COMMAND_PROMISES, ...BROKER_FILES, ...BROKER_FILE_PROMISES, ...BROKER_SEARCHES,
  ...BROKER_SERVICES, ...BROKER_TRAFFIC, ...BROKER_TRAFFIC_PROMISES,
]
