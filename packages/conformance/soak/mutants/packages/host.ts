import type { Mutant } from '../mutant.ts'

export const HOST: readonly Mutant[] = [
  {
    what: 'MAX_REMOVED: arguments that are null and removed',
    file: 'packages/host/src/calls/receive.ts',
    from: 'removals < MAX_REMOVED ? withoutNull(args, fault.path) : undefined',
    to: 'withoutNull(args, fault.path)',
    test: 'packages/host/test/calls/validate.test.ts',
  },
  {
    what: 'The diff shows the files as they are when the question is asked',
    file: 'packages/host/src/calls/approval-request.ts',
    from: 'return { offers, request, whole: () => wholeRequest(request, call, analysis, offers, host) }',
    to: 'const early = wholeRequest(request, call, analysis, offers, host)\n  return { offers, request, whole: () => early }',
    test: 'packages/bulkhead/test/undo/approval-diff.test.ts',
  },
]
