# METADATA
# title: Rules of the installation
# description: >-
#   What the rules in POLICIES_DIR deny and demand. Here there are none: a build with that folder puts another file in
#   place of this one (src/policy-engine/opa/installation-rules.ts).
package authz.platform

# METADATA
# title: Looks at the resource
# description: Whether a rule needs the resource itself, so that the route phase decides nothing finally.
looks_at_resource := false

# METADATA
# title: Denials
# description: The denials as reasons, each with the name of its rule and the sentence for people.
denials := []

# METADATA
# title: Demands
# description: The demands of the rules, in the form of policies with obligations.
demands := []
