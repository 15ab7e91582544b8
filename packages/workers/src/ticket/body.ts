import { DEFAULT_LIMITS, LONGEST_TIMER_MS, type CommandWall, type CompartmentLimits } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { refused, refuseUnknown } from './ticket.ts'

/** What a worker needs for a call besides the ticket, which has its digest. */
export interface CallBody {
  readonly args: JsonObject
  readonly config: JsonObject
  readonly limits: CompartmentLimits
  /** Of the session. Calls of different ones do not share a compartment at the same time. */
  readonly confinement: string | null
  readonly isApproved: boolean
  readonly wall: CommandWall | null
  readonly commandMs: number | null
  readonly reverts: { readonly result: Json } | null
}

/** Arguments have 16 MB at most, like those of any call. */
const BODY = { maxDepth: 72, maxNodes: 600_000, maxChars: 40 * 1024 * 1024 }
const NAMES = ['args', 'config', 'limits', 'confinement', 'isApproved', 'wall', 'commandMs', 'reverts'] as const

/** Absent members are left out. */
export const writeBody = (body: CallBody): Buffer =>
  Buffer.from(canonicalJson({ ...body, wall: body.wall && JSON.parse(JSON.stringify(body.wall)) as Json } as unknown as Json))

/** Throws WorkerRefused. The ticket shows that the caller, which is trusted to decide, wrote it. */
export function readBody(bytes: Uint8Array): CallBody {
  const parsed = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), BODY)
  const body = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  refuseUnknown('description', body, NAMES)
  const { args, config, limits, confinement, isApproved, wall, commandMs, reverts } = body
  const fits = NAMES.every((name) => body[name] !== undefined) && isJsonObject(args) && isJsonObject(config)
    && isLimits(limits) && (confinement === null || typeof confinement === 'string') && typeof isApproved === 'boolean'
    && isWall(wall) && (commandMs === null || isTime(commandMs)) && (reverts === null || isJsonObject(reverts))
  if (!fits) throw refused('its description is not understood')
  return body as unknown as CallBody
}

const isTime = (value: Json | undefined): boolean =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= LONGEST_TIMER_MS

const isLimits = (value: Json | undefined): boolean =>
  isJsonObject(value) && Object.values(value).every((limit) => typeof limit === 'number' && limit > 0)

/** A caller of another version may have other limits: those that it does not know have their defaults. */
export const limitsIn = ({ limits }: CallBody): CompartmentLimits => {
  const known = Object.entries(limits).filter(([name]) => Object.hasOwn(DEFAULT_LIMITS, name))
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(known) }
}

function isWall(value: Json | undefined): boolean {
  if (value === null) return true
  if (!isJsonObject(value)) return false
  const texts = (list: Json | undefined): boolean =>
    list === undefined || (Array.isArray(list) && list.every((one) => typeof one === 'string'))
  return ['look', 'work', 'open'].includes(String(value['wall'])) && (value['hosts'] === 'all' || texts(value['hosts']))
    && texts(value['keys'])
}
