import { z } from 'zod'
import { RETRIED_CLASSES } from '../model/errors.ts'
import { CALL_LIMITS } from '../model/limits.ts'
import { TOOL_MODES, TREATMENT_PRESETS, TREATMENTS, type ToolMode } from '../model/names.ts'

const treated = z.enum(TREATMENTS).exactOptional()
/** How calls are treated by the mode of their tool. */
export const treatment = z.strictObject({
  preset: z.enum(Object.keys(TREATMENT_PRESETS) as (keyof typeof TREATMENT_PRESETS)[]).exactOptional().describe(
    'The treatment of modes that are not named here. steerable: tools of the mode local ask, and others run. Default: '
    + 'default.',
  ),
  ...Object.fromEntries(TOOL_MODES.map((mode) => [mode, treated.describe(
    `Tools of the mode ${mode}. ask: a person is asked, also about a tool that is not gated. gate: the security mode `
    + 'decides about gated tools. run: the security mode asks nothing.',
  )])) as Record<ToolMode, typeof treated>,
})

/** When a failed call is tried again. */
export const retries = z.strictObject({
  attempts: z.int().positive().max(10).exactOptional()
    .describe(`How often a call is tried, the first time included. 1: never again. Default: ${CALL_LIMITS.attempts}.`),
  backoffBase: z.number().min(0).max(10).exactOptional().describe(
    'The pause after attempt n, in seconds: this to the power of n; 0 for none. It counts against the deadline of the call. '
    + `Default: ${CALL_LIMITS.backoffBase}.`,
  ),
  jitterMs: z.int().nonnegative().max(60_000).exactOptional()
    .describe(`The most that is added to a pause at random, in milliseconds. Default: ${CALL_LIMITS.jitterMs}.`),
  classes: z.array(z.enum(RETRIED_CLASSES)).exactOptional().describe(
    'The classes of errors that are retried. An error that would repeat is never retried, and a tool that acts is '
    + 'retried only after ToolTransient. Default: all of them.',
  ),
})
