import type { Scenario } from '../scenario.ts'
import { badArguments } from './bad-arguments.ts'
import { crash } from './crash.ts'
import { goodCall } from './good-call.ts'
import { hang } from './hang.ts'
import { undeclaredCapability } from './undeclared-capability.ts'

export const SCENARIOS: readonly Scenario[] = [goodCall, badArguments, undeclaredCapability, hang, crash]
