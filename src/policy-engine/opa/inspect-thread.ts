import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from '../sandbox/thread-priority.ts'
import type { Module } from './rego-tree.ts'
import { type FindingRule, inspectModule } from './tenant-module.ts'

// A thread that inspects the syntax tree of one module of a tenant: see compile-module.ts.
lowerThreadPriority()
const { file, rule } = workerData as { file: string; rule: FindingRule }
parentPort?.postMessage(inspectModule(JSON.parse(readFileSync(file, 'utf8')) as Module, rule))
