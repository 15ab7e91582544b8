import type { ConfigFile } from '@bulkhead/contract'
import { EventBus } from '../../src/records/events.ts'
import { Registry } from '../../src/extensions/registry/registry.ts'
import { RunningCalls } from '../../src/extensions/running-calls.ts'
import { Settings } from '../../src/model/settings.ts'
import { Validators } from '../../src/extensions/schema-checks.ts'
import { ManualClock } from './clock.ts'
import { TwinSandbox } from './sandbox.ts'
import { sketchExtension, type ExtensionSketch } from './world.ts'

export interface RegistrySketch {
  readonly extensions?: readonly ExtensionSketch[]
  readonly config?: ConfigFile
}

/** A registry without a host, over twins of the ports. */
export function createRegistry({ extensions = [], config = {} }: RegistrySketch): Registry {
  const clock = new ManualClock()
  const registry = new Registry({
    settings: new Settings({ merged: config, layers: [] }),
    variables: { workspace: ['/work space'], 'user-data': ['/data'] },
    validators: new Validators(),
    sandbox: new TwinSandbox(new Map()),
    events: new EventBus(clock),
    clock,
    services: () => ({ running: new RunningCalls(), create: () => { throw new Error('nothing is started here') } }),
  })
  registry.register(extensions.map((sketch) => sketchExtension(sketch).descriptor))
  return registry
}
