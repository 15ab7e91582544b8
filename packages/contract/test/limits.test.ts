import { expect, it } from 'vitest'
import {
  ANSWER_LIMITS, CALL_LIMITS, COMPARTMENT_LIMITS, DEFAULT_LIMITS, MANIFEST_LIMITS, MCP_HTTP_LIMITS,
  WORKER_LIMITS,
} from '../src/model/limits.ts'

it('limits have these values', () => {
  expect(DEFAULT_LIMITS).toEqual({
    heapMb: 128, memoryMb: 512, cpuMs: 15_000, phaseMs: 10_000, startMs: 10_000, graceMs: 500, concurrentCalls: 64,
    concurrentCommands: 8, messageBytes: 16_777_216, messagesPerSecond: 20_000, outstandingRequests: 1_024,
    outputBytes: 8_388_608,
    logBytes: 1_048_576,
    readBytes: 2_097_152_000, writtenBytes: 1_048_576_000, sentBytes: 524_288_000, savedBytes: 67_108_864,
    nestedCalls: 10_000,
  })
  expect(CALL_LIMITS).toEqual({
    idChars: 128, argumentChars: 1_048_576, argumentDepth: 32, argumentNodes: 50_000, defaultTimeoutMs: 30_000,
    maxTimeoutMs: 3_600_000,
    argumentChanges: 4, policyMs: 600_000, judgeMs: 600_000, attempts: 3, backoffBase: 1.5, jitterMs: 500,
    sessionIds: 100_000, waitingPerSlot: 16, approvalKeyBytes: 1_024, listedUses: 32, subagentDepth: 5,
    shownBytes: 204_800, sessionSavedBytes: 1_048_576_000, shownImages: 20,
  })
  expect(MANIFEST_LIMITS).toEqual({
    manifestBytes: 262_144, tools: 128, connectedTools: 2_048, descriptionChars: 4_096, files: 2_000,
    fileBytes: 16_777_216, packageBytes: 67_108_864, schemaChars: 65_536, schemaDepth: 24, subschemas: 1_000,
    subschemasPerExtension: 4_000, inPlaceSubschemas: 2_000,
    patternChars: 1_024,
  })
  expect(ANSWER_LIMITS).toEqual({
    webhookMs: 10_000, webhookAttempts: 4, bodyBytes: 262_144, headersMs: 10_000, requestMs: 30_000, linkMinutes: 1_440,
  })
  expect(WORKER_LIMITS).toEqual({
    leaseMs: 5_000, renewals: 5, capacity: 8, idleCompartments: 32, messageBytes: 409_600, partBytes: 1_048_576,
    resultBytes: 67_108_864, losses: 3, callMs: 3_600_000, skewMs: 300_000,
  })
  expect(MCP_HTTP_LIMITS).toEqual({
    connections: 512, connectionsWithoutToken: 384, connectionsPerAddress: 64, connectionsPerToken: 128,
    headersMs: 10_000, requestMs: 60_000, bodyBytes: 10_000_000, sessionsPerToken: 32,
    eventsPerSession: 1_000, eventBytesPerSession: 8_000_000, eventsPerToken: 4_000, eventBytesPerToken: 32_000_000,
  })
})

it('limits have a meaning in a whole sentence and distinct errors', () => {
  const rows = Object.values(COMPARTMENT_LIMITS)
  expect(rows.filter(({ meaning }) => !/^[A-Z].*\.$/.test(meaning))).toEqual([])
  // Calls and commands share one: a queue is full.
  expect(new Set(rows.map(({ error }) => error)).size).toBe(rows.length - 1)
})

it('inner limits are smaller than outer ones', () => {
  expect(DEFAULT_LIMITS.outputBytes).toBeLessThan(DEFAULT_LIMITS.messageBytes)
  expect(CALL_LIMITS.argumentChars * 4).toBeLessThan(DEFAULT_LIMITS.messageBytes)
  expect(MANIFEST_LIMITS.fileBytes).toBeLessThan(MANIFEST_LIMITS.packageBytes)
})
